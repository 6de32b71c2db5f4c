"""Experiments of the lessons on training."""
