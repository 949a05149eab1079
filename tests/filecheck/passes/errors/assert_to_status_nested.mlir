// RUN: not kina-opt %s --pass assert-to-status 2>&1 | filecheck %s

// CHECK: error: assert-to-status: @f has a cf.assert inside another operation, expected every check at the top level of the function
func.func @f(%p: i1) {
  scf.if %p {
    cf.assert %p, "inner"
  }
  func.return
}
