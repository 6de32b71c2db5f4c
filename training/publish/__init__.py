"""Trained models, measured and put into the app."""
