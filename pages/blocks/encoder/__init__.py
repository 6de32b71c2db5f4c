"""The lesson on the encoder: what can be tried on it, and what it asks."""

from pages.blocks.encoder.lesson import LESSON

__all__ = ["LESSON"]
