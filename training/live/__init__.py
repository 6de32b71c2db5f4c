"""Trainings that a learner starts in the page."""
