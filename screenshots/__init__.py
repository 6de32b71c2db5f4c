"""The pictures in the README, taken by one command: `python -m screenshots`."""
