"""Where the store is. Imports nothing, so that an app in which nobody opened a class knows it at once."""

import os
from pathlib import Path

SETTING = "WALKTHROUGH_CLASSES"
FILE = Path(__file__).parents[1] / "classes" / "classes.db"


def may_be_there() -> bool:
    """Whether there may be a store: it is made when the first class is opened."""
    return bool(os.environ.get(SETTING)) or FILE.exists()
