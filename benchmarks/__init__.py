"""How fast, how light, how many at once: `python -m benchmarks`, or one of its parts alone.

Waiting is given as a multiple of what the same machine needs, in the same run, for the least a Streamlit page can do.
"""
