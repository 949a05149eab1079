"""What the numerics tests share: inputs with special values, oracles, and the sweep's cases.

Nothing here reads `kina.reference` or compiled code: both are compared with these oracles.
"""
