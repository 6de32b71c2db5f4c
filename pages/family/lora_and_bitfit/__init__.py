"""The lesson in which the learner adapts the translator to a style with few new numbers."""

from pages.family.lora_and_bitfit.lesson import LESSON

__all__ = ["LESSON"]
