"""The lesson on how BERT reads two texts: three embeddings added, and whether the second text follows the first."""

from pages.family.pairs.lesson import LESSON

__all__ = ["LESSON"]
