import os

# One thread for NumPy: many small products gain nothing from more, and cost five times as much beside other workers.
# It must be said before NumPy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
