"""No visitor gets more than a share: of the messages that a process reads, and of the pages it serves at once.

The proxy counts requests (`nginx.conf`). What a page sends afterwards travels inside one long connection, where no
proxy can count it; that is counted here. Only a visitor whom the proxy has named is counted: without it, on a machine
of one's own, nobody has to be protected.
"""

import asyncio
import time
from collections.abc import Callable

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving import MOST_PAGES, TOO_MANY_PAGES, VISITOR_COOKIE

# A key that is held down sends about 30 messages a second for as long as anybody holds it.
MESSAGES_A_SECOND = 20.0
MESSAGES_AT_ONCE = 100


class Turns:
    """A visitor's turns: so many at once, then so many a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.pages = 0
        self._clock = clock
        self._left = float(MESSAGES_AT_ONCE)
        self._seen = clock()

    def take(self) -> float:
        """Take the next turn. Returns: seconds until it comes, 0 if at once"""
        now = self._clock()
        self._left = min(MESSAGES_AT_ONCE, self._left + (now - self._seen) * MESSAGES_A_SECOND) - 1
        self._seen = now
        return max(0.0, -self._left / MESSAGES_A_SECOND)


class FairShare:
    """ASGI middleware: messages beyond a visitor's share wait, unread; pages beyond it are marked."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._visitors: dict[str, Turns] = {}  # those with a page open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = HTTPConnection(scope).cookies.get(VISITOR_COOKIE) if scope["type"] == "websocket" else None
        if not name:
            await self._app(scope, receive, send)
            return
        turns = self._visitors.setdefault(name, Turns())

        async def in_turn() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                await asyncio.sleep(turns.take())
            return message

        turns.pages += 1
        if turns.pages > MOST_PAGES:
            scope = {**scope, "headers": [*scope["headers"], (TOO_MANY_PAGES.encode(), b"yes")]}
        try:
            await self._app(scope, in_turn, send)
        finally:
            turns.pages -= 1
            if not turns.pages:
                del self._visitors[name]
