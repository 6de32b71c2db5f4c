"""A trained model taught something else: new heads, and a few new numbers beside the old ones."""
