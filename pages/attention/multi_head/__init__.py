"""What the multi-head lesson lets a visitor try: heads switched off, their ranking, and what several heads cost."""

from pages.attention.multi_head.lesson import LESSON

__all__ = ["LESSON"]
