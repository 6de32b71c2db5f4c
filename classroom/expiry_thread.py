"""Classes go after 30 days by themselves, also where nobody opens a page of a class any more."""

import threading
import time
from contextlib import suppress

from classroom.setting import may_be_there

FIRST_SECONDS, EVERY_SECONDS = 120.0, 3600.0  # after the start of the app, and from one sweep to the next


def start_keeper() -> None:
    """Begin to sweep, in the background, for as long as the app runs."""
    threading.Thread(target=_keep, daemon=True, name="keeper").start()


def _keep() -> None:
    time.sleep(FIRST_SECONDS)
    while True:
        if may_be_there():
            sweep_once()
        time.sleep(EVERY_SECONDS)


def sweep_once() -> None:
    """Delete the classes that are too old. A store that cannot be reached is tried again next time."""
    from classroom.classes import sweep
    from classroom.database import Database
    from classroom.errors import StoreError

    with suppress(StoreError):
        db = Database()
        try:
            sweep(db)
        finally:
            db.close()
