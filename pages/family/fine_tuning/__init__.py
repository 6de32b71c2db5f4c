"""The lesson in which a pre-trained model learns a task from twenty sentences that the learner labels."""

from pages.family.fine_tuning.lesson import LESSON

__all__ = ["LESSON"]
