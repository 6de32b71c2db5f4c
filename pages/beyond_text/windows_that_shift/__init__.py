"""Lesson: Swin looks around within windows, and shifts them so that what changes gets through."""

from pages.beyond_text.windows_that_shift.lesson import LESSON

__all__ = ["LESSON"]
