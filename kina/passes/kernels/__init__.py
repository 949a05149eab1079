"""Kernels that write their own loops: one strategy per file, behind one small interface."""
