"""What the embeddings lesson is made of: rows looked up, their neighbours, one word in three sentences."""

from pages.inputs.embeddings.lesson import LESSON

__all__ = ["LESSON"]
