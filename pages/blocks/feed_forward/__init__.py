"""The lesson on the feed-forward network: its units, what can be left out of it, and what it asks."""

from pages.blocks.feed_forward.lesson import LESSON

__all__ = ["LESSON"]
