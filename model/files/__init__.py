"""Models as files: weights, configuration, card, and all that belongs to a loaded one."""
