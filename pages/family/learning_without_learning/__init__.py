"""Lesson: a model that learns from the examples in its prompt, while no weight changes."""

from pages.family.learning_without_learning.lesson import LESSON

__all__ = ["LESSON"]
