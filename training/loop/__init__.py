"""The training loop and what goes into it: data, objective, schedule, state on disk."""
