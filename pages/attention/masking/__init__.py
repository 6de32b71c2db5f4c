"""Lesson: the padding mask and the causal mask, and why the decoder may train on all positions at once."""

from pages.attention.masking.lesson import LESSON

__all__ = ["LESSON"]
