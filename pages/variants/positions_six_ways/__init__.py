"""Lesson: six ways to tell a model about order, three of them tried on the translator's own queries and keys."""

from pages.variants.positions_six_ways.lesson import LESSON

__all__ = ["LESSON"]
