"""Experiments of the lessons on attention."""
