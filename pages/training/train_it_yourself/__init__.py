"""The lesson in which the learner trains a model: what to choose, the training, and what it has learned."""

from pages.training.train_it_yourself.lesson import LESSON

__all__ = ["LESSON"]
