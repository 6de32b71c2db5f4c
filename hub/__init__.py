"""Hugging Face: its models read in, this project's model written out; and BertViz's views of attention.

transformers and bertviz are slow to import, so a page imports a module of this folder only if it needs it.
"""
