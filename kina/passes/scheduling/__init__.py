"""How `schedule-cpu` decides: fuse bodies, form kernels, call them, print their schedule."""
