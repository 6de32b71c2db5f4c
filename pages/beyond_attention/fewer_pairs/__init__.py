"""Lesson: which pairs a trained model can do without: its attention narrowed by a pattern, on the learner's text."""

from pages.beyond_attention.fewer_pairs.lesson import LESSON

__all__ = ["LESSON"]
