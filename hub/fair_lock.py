"""A line of visitors who want the same thing: whoever has waited longest is next."""

import threading
from collections import deque


class Line:
    """A lock that is handed on in the order in which it was asked for. (Python's own may go to whoever comes last.)"""

    def __init__(self) -> None:
        self._guard = threading.Lock()  # of the two below; held only for a look
        self._waiting: deque[threading.Event] = deque()
        self._taken = False

    @property
    def taken(self) -> bool:
        """Whether somebody has it right now."""
        return self._taken

    def enter(self, seconds: float) -> bool:
        """Wait for one's turn. False if it has not come after so many seconds."""
        turn = threading.Event()
        with self._guard:
            if not self._taken:
                self._taken = True
                return True
            self._waiting.append(turn)
        if turn.wait(seconds):
            return True
        with self._guard:
            if turn.is_set():  # in this very moment
                return True
            self._waiting.remove(turn)
            return False

    def leave(self) -> None:
        """Hand it on."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False
