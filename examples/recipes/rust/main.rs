//! Kina's loss from Rust. In this folder:
//!
//!     kina build ../loss.kina -o libloss.so
//!     rustc main.rs -L . -l loss -C link-arg=-Wl,-rpath,'$ORIGIN'
//!     ./main

#[link(name = "loss")]
extern "C" {
    /// Sizes first, then the inputs, then the output, as in loss.h.
    fn kina_nll(b: i64, v: i64, logits: *const f32, targets: *const i64, out: *mut f32) -> i32;
}

#[derive(Debug, PartialEq)]
pub enum Error {
    OutOfMemory,
    /// The number of the check that failed; `kina_nll_message` in loss.h has its text.
    Check(i32),
}

/// The loss of each row of `logits`, which has one row for each target.
pub fn nll(logits: &[f32], targets: &[i64]) -> Result<Vec<f32>, Error> {
    // The library trusts sizes: this is where they are made sure of. Each is at least 1.
    let rows = targets.len();
    assert!(rows > 0 && !logits.is_empty() && logits.len() % rows == 0);
    let columns = logits.len() / rows;

    let mut out = vec![0.0; rows];
    let status = unsafe {
        kina_nll(rows as i64, columns as i64, logits.as_ptr(), targets.as_ptr(), out.as_mut_ptr())
    };
    match status {
        0 => Ok(out),
        -1 => Err(Error::OutOfMemory),
        number => Err(Error::Check(number)),
    }
}

fn main() {
    let logits = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0];
    println!("{:.4?}", nll(&logits, &[0, 3]));
    println!("{:?}", nll(&logits, &[0, 4]));
}
