"""Lesson: a sound is read in strips and in patches; what strips say falls together to digits in a row."""

from pages.beyond_text.sound_in_strips.lesson import LESSON

__all__ = ["LESSON"]
