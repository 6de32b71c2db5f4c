"""What `training.distilled` is made of: rows of several pairs, a run on them, a search by several models, and pairs
that a model writes.
"""
