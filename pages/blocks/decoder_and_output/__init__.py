"""The lesson on the decoder and the output: what can be tried on it, and what it asks."""

from pages.blocks.decoder_and_output.lesson import LESSON

__all__ = ["LESSON"]
