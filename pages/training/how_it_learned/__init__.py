"""The lesson in which one watches a translator learn, from random weights on."""

from pages.training.how_it_learned.lesson import LESSON

__all__ = ["LESSON"]
