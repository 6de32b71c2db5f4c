"""Lesson: what a query, a key and a value are, and how three matrices make them out of one vector."""

from pages.attention.query_key_value.lesson import LESSON

__all__ = ["LESSON"]
