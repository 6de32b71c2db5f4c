"""Independent computations: nothing here imports what it checks."""
