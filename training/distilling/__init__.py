"""What `training.distilled` is made of: rows of several pairs, a run on them, and a search by several models."""
