"""Turns: a visitor gets so many messages read at once, then so many a second; pages beyond a number are marked."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from serving import MOST_PAGES, TOO_MANY_PAGES, VISITOR_COOKIE
from serving.fair_share import MESSAGES_A_SECOND, MESSAGES_AT_ONCE, FairShare, Turns


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_so_many_turns_come_at_once_and_the_next_ones_in_their_time() -> None:
    turns = Turns(Clock())
    waits = [turns.take() for _ in range(MESSAGES_AT_ONCE + 3)]
    assert waits[:MESSAGES_AT_ONCE] == [0.0] * MESSAGES_AT_ONCE
    assert waits[MESSAGES_AT_ONCE:] == pytest.approx([n / MESSAGES_A_SECOND for n in (1, 2, 3)])


def test_turns_come_back_with_time_but_never_more_than_so_many() -> None:
    clock = Clock()
    turns = Turns(clock)
    for _ in range(MESSAGES_AT_ONCE):
        turns.take()
    clock.now += 2 / MESSAGES_A_SECOND
    assert [turns.take(), turns.take()] == pytest.approx([0, 0])
    assert turns.take() > 0.01
    clock.now += 3600
    assert [turns.take() for _ in range(MESSAGES_AT_ONCE)] == [0.0] * MESSAGES_AT_ONCE
    assert turns.take() > 0


def scope(visitor: str | None, kind: str = "websocket") -> Scope:
    headers = [] if visitor is None else [(b"cookie", f"other=1; {VISITOR_COOKIE}={visitor}".encode())]
    return {"type": kind, "headers": headers, "path": "/_stcore/stream"}


class Pages:
    """An app whose pages stay open until they are let go; keeps what each was told."""

    def __init__(self) -> None:
        self.marked: list[bool] = []
        self.read: list[Message] = []
        self.closed = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.marked.append((TOO_MANY_PAGES.encode(), b"yes") in scope["headers"])
        self.read.append(await receive())
        await self.closed.wait()


def to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Run it in a thread of its own: another test's browser may keep this one's event loop."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


async def nothing(*_: Any) -> Message:
    return {"type": "websocket.receive"}


async def opened(pages: Pages, share: FairShare, visitors: list[str | None]) -> None:
    tasks = [asyncio.ensure_future(share(scope(visitor), nothing, nothing)) for visitor in visitors]
    await asyncio.sleep(0)
    while len(pages.read) < len(visitors):
        await asyncio.sleep(0.01)
    pages.closed.set()
    await asyncio.gather(*tasks)


def test_pages_beyond_a_number_are_marked_for_their_visitor_alone() -> None:
    async def run() -> None:
        pages = Pages()
        share = FairShare(pages)
        await opened(pages, share, ["a" * 32] * (MOST_PAGES + 2) + ["b" * 32])
        assert pages.marked == [False] * MOST_PAGES + [True, True, False]
        again = Pages()
        share._app = again  # all are closed: the count begins anew
        await opened(again, share, ["a" * 32])
        assert again.marked == [False]

    to_the_end(run())


def test_nobody_is_counted_whom_the_proxy_has_not_named() -> None:
    async def run() -> None:
        pages = Pages()
        await opened(pages, FairShare(pages), [None] * (MOST_PAGES + 2))
        assert not any(pages.marked)

    to_the_end(run())


def test_what_is_beyond_a_share_is_read_later_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("serving.fair_share.asyncio.sleep", sleep)
    monkeypatch.setattr("serving.fair_share.Turns", lambda: Turns(clock=lambda: 0.0))  # none comes while it works
    n = MESSAGES_AT_ONCE + 5
    sent = iter(range(n))
    got: list[int] = []

    async def receive() -> Message:
        return {"type": "websocket.receive", "n": next(sent)}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        got.extend([(await receive())["n"] for _ in range(n)])

    to_the_end(FairShare(app)(scope("a" * 32), receive, nothing))
    assert got == list(range(n))
    assert slept[:MESSAGES_AT_ONCE] == [0.0] * MESSAGES_AT_ONCE
    assert 0 < slept[MESSAGES_AT_ONCE] <= slept[-1]
