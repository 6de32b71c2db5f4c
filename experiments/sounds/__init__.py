"""Recordings of visitors, and what readers of sound hear in them."""
