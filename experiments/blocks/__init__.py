"""Experiments of the lessons on blocks and their variants."""
