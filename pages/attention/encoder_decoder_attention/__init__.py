"""What the lesson on encoder-decoder attention is made of: the map that is looked at, and what one can try on it."""

from pages.attention.encoder_decoder_attention.lesson import LESSON

__all__ = ["LESSON"]
