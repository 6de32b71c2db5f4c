"""Experiments of the lessons on GPT, BERT and their relatives."""
