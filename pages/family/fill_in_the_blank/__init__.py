"""The lesson on BERT's blanks: which words are hidden, what is guessed, and how training hides them."""

from pages.family.fill_in_the_blank.lesson import LESSON

__all__ = ["LESSON"]
