"""Other people's models and other people's views: Hugging Face models and BertViz, brought to one form.

This folder may import transformers and bertviz, which are slow to import; pages import it where they need it.
"""
