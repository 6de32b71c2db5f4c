"""Experiments of the lessons on writing a translation."""
