"""Lesson: a sentence asks itself. Every encoder head's map, what it shows, and what it does not prove."""

from pages.attention.self_attention.lesson import LESSON

__all__ = ["LESSON"]
