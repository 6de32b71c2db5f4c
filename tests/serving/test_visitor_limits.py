"""A visitor's share: messages, work, runs at once, pages. Nothing is lost; others go before."""

import asyncio
import tomllib
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from classroom import rate_limits
from classroom.members import MAX_LEARNERS
from serving import BEHIND_PROXY, MOST_PAGES, NAMED, TOO_MANY_PAGES, UNNAMED, VISITOR_COOKIE, visitor_limits
from serving.proxy import LIMITS
from serving.visitor_limits import MESSAGES_A_SECOND, MESSAGES_AT_ONCE, RUNS_AT_ONCE, Bucket, FairShare, Gate

pytestmark = pytest.mark.slow  # serves visitors, who wait

ROOT = Path(__file__).parents[2]
DONE, GOES_ON = ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_EARLY_FOR_RERUN
AT_ONCE = int(MESSAGES_AT_ONCE)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Run it in a thread of its own: another test's browser may keep this one's event loop."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, asyncio.wait_for(work, 60)).result()


def test_so_much_comes_at_once_and_the_rest_in_its_time() -> None:
    clock = Clock()
    bucket = Bucket(100, 100, 20, clock)
    assert [bucket.take(1) for _ in range(103)] == pytest.approx([0] * 100 + [0.05, 0.1, 0.15])
    clock.now += 0.25
    assert [bucket.take(1), bucket.take(1), bucket.take(1)] == pytest.approx([0, 0, 0.05])
    clock.now += 3600
    assert [bucket.take(1) for _ in range(101)] == pytest.approx([0] * 100 + [0.05])
    assert bucket.take(1000, most_wait=5) == pytest.approx(5)
    clock.now += 5
    assert bucket.take(0) == 0  # what was forgiven stays so


def test_of_those_who_wait_whoever_worked_less_goes_before_but_nobody_waits_for_ever() -> None:
    async def run() -> None:
        gate, order = Gate(1), []

        async def go(name: str, left: float) -> None:
            await gate.enter(left)
            order.append(name)

        await go("first", 0)
        waiting = [asyncio.create_task(go(name, left)) for name, left in (("hog", 0), ("new", 3), ("here", 20))]
        gone = asyncio.create_task(go("gone", 90))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        for _ in range(4):
            gate.leave()
            await asyncio.sleep(0.01)
        await asyncio.gather(*waiting)
        assert order == ["first", "here", "new", "hog"]
        await asyncio.wait_for(gate.enter(0), 1)  # the place of each that left is free again

    to_the_end(run())


def scope(visitor: str, address: str = "192.0.2.1", proxied: bool = True) -> Scope:
    headers = [(b"cookie", f"other=1; {VISITOR_COOKIE}={visitor}".encode())] if visitor else []
    headers += [(BEHIND_PROXY.encode(), b"yes")] if proxied else []
    return {"type": "websocket", "headers": headers, "path": "/_stcore/stream", "client": (address, 1)}


def rerun(kind: str = "rerun_script") -> Message:
    message = BackMsg()
    if kind == "rerun_script":
        message.rerun_script.page_name = "masking"
    else:
        message.stop_script = True
    return {"type": "websocket.receive", "bytes": message.SerializeToString()}


def end(status: int) -> Message:
    message = ForwardMsg()
    message.script_finished = status  # type: ignore[assignment]
    return {"type": "websocket.send", "bytes": message.SerializeToString()}


def start() -> Message:
    message = ForwardMsg()
    message.session_status_changed.script_is_running = True
    return {"type": "websocket.send", "bytes": message.SerializeToString()}


class Page:
    """A page that asks for runs, and an app that reads what is asked and ends a run when it is told to."""

    def __init__(self, share: FairShare, messages: int = 1, **who: Any) -> None:
        self.left, self.read, self.mark = messages, 0, None
        self._send: Send
        self._ended = asyncio.Event()
        share._app = self._app
        self.task = asyncio.create_task(share(scope(**who), self._receive, self._nothing))

    async def _nothing(self, _: Message) -> None:
        pass

    async def _receive(self) -> Message:
        while not self.left:
            await asyncio.sleep(0.01)
        self.left -= 1
        return rerun()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.mark, self._send = dict(scope["headers"]).get(TOO_MANY_PAGES.encode()), send
        reading = asyncio.create_task(self._reading(receive))
        await self._ended.wait()
        reading.cancel()

    async def _reading(self, receive: Receive) -> None:
        while True:
            await receive()
            self.read += 1

    async def finish(self, status: int = DONE) -> None:
        await self._send(end(status))
        await soon()

    async def start(self) -> None:
        await self._send(start())

    async def close(self) -> None:
        self._ended.set()
        await self.task


async def soon() -> None:
    await asyncio.sleep(0.3)


def test_pages_beyond_a_number_are_marked_for_their_visitor_alone() -> None:
    async def run() -> None:
        share = FairShare(None)  # type: ignore[arg-type]
        for visitor, mark in (("a" * 32, NAMED), ("", UNNAMED), ("made up", UNNAMED)):
            place = {"visitor": visitor, "address": f"192.0.2.{len(visitor)}"}
            pages = []
            for _ in range(MOST_PAGES + 2):
                pages.append(Page(share, **place))
                await asyncio.sleep(0)
            others = [Page(share, visitor="b" * 32, address=place["address"])]
            await asyncio.sleep(0)
            others.append(Page(share, visitor="", address="198.51.100.1"))
            await soon()
            assert [page.mark for page in (*pages, *others)] == [None] * MOST_PAGES + [mark.encode()] * 2 + [None] * 2
            for page in (*pages, *others):
                await page.close()
            again = Page(share, **place)
            await soon()
            assert again.mark is None
            await again.close()

    to_the_end(run())


def test_who_came_back_is_not_forgotten_while_a_page_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        share, one = FairShare(None), "a" * 32  # type: ignore[arg-type]
        before = Page(share, visitor=one)
        await soon()
        await before.close()
        again = Page(share, visitor=one)
        await soon()
        known = share._shares[one]
        monkeypatch.setattr(visitor_limits, "KEPT_SECONDS", 0.0)
        other = Page(share, visitor="b" * 32)
        await soon()
        assert share._shares[one] is known
        for page in (again, other):
            await page.close()

    to_the_end(run())


def test_a_visitors_runs_come_one_after_the_other_and_nobody_elses_wait() -> None:
    async def run() -> None:
        share = FairShare(None)  # type: ignore[arg-type]
        greedy = []
        for _ in range(5):
            greedy.append(Page(share, visitor="a" * 32))
            await asyncio.sleep(0)
        await soon()
        assert [page.read for page in greedy] == [1] * RUNS_AT_ONCE + [0] * 3
        other = Page(share, visitor="b" * 32)
        await soon()
        assert other.read == 1
        other.left += 1
        await soon()
        assert other.read == 2  # what comes during a run changes it, as ever
        await other.finish(GOES_ON)
        await greedy[0].finish()
        assert greedy[2].read == 1
        await greedy[1].close()  # a run whose page is gone ends a little later
        await asyncio.sleep(visitor_limits.CLOSED_SECONDS + 0.1)
        assert greedy[3].read == 1
        for page in (*greedy[:1], *greedy[2:], other):
            await page.close()

    to_the_end(run())


def test_two_messages_that_become_one_run_hold_their_place_for_one_run() -> None:
    async def run() -> None:
        share = FairShare(None)  # type: ignore[arg-type]
        pages = []
        for _ in range(RUNS_AT_ONCE + 3):
            pages.append(Page(share, visitor="a" * 32))
            await asyncio.sleep(0)
        for page in pages[:2]:
            page.left += 1
        await soon()
        for page in pages[:2]:
            await page.finish()
        await pages[1].start()  # of this one the second message does begin a run
        pages[0].left += 1  # as one asks that looks for news, again and again
        await soon()
        assert [page.read for page in pages] == [3, 2, 0, 0, 0]
        await asyncio.sleep(visitor_limits.BEGUN_SECONDS)
        assert [page.read for page in pages] == [3, 2, 1, 0, 0]
        await pages[1].finish()
        assert pages[3].read == 1
        for finishes in (True, False):  # the second message comes after the run that it might have repeated
            pages[3].left += 1
            await soon()
            if finishes:
                await pages[3].finish()
        await pages[3].start()
        await pages[3].finish()
        assert pages[4].read == 1
        for page in pages:
            await page.close()

    to_the_end(run())


def test_of_one_address_so_many_run_at_once_and_another_address_does_not_wait() -> None:
    async def run() -> None:
        share = FairShare(None)  # type: ignore[arg-type]
        school = []
        for n in range(visitor_limits.RUNS_OF_ADDRESS + 2):
            school.append(Page(share, visitor=f"{n:032x}"))
            await asyncio.sleep(0)
        home = Page(share, visitor="f" * 32, address="198.51.100.1")
        await soon()
        assert [page.read for page in (*school, home)] == [1] * visitor_limits.RUNS_OF_ADDRESS + [0, 0, 1]
        await school[0].finish()
        assert sum(page.read for page in school[-2:]) == 1
        await asyncio.sleep(visitor_limits.LEASE_SECONDS + 0.1)  # who waits for a slow thing keeps nobody away for long
        assert school[-2].read == school[-1].read == 1
        for page in (*school, home):
            await page.close()

    to_the_end(run())


def test_without_the_proxy_nobody_is_counted() -> None:
    async def run() -> None:
        share = FairShare(None)  # type: ignore[arg-type]
        pages = []
        for _ in range(MOST_PAGES + 2):
            pages.append(Page(share, 2 * AT_ONCE, visitor="", proxied=False))
            await asyncio.sleep(0)
        await soon()
        assert {(page.read, page.mark) for page in pages} == {(2 * AT_ONCE, None)}
        for page in pages:
            await page.close()

    to_the_end(run())


@pytest.mark.parametrize("visitor", ["a" * 32, ""])
def test_messages_and_work_beyond_a_share_wait_even_for_who_connects_anew(
    visitor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, slept = Clock(), list[float]()

    async def sleep(seconds: float, real: Callable[..., Any] = asyncio.sleep) -> None:
        slept.append(seconds)
        await real(0)

    monkeypatch.setattr(visitor_limits.asyncio, "sleep", sleep)
    monkeypatch.setattr(visitor_limits, "Bucket", lambda *of: Bucket(*of, clock=clock))
    used = iter(range(10**6))
    monkeypatch.setattr(visitor_limits.time, "process_time", lambda: float(next(used)))  # a second at each look

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(AT_ONCE // 2):
            await receive()
            await send(end(DONE))

    async def run() -> None:
        share = FairShare(app)
        for _ in range(2):
            await share(scope(visitor), one_more, nothing)
        assert max(slept) == visitor_limits.LONGEST_WAIT
        slept.clear()
        await share(scope(visitor), one_more, nothing)
        assert slept[0] == pytest.approx(1 / MESSAGES_A_SECOND)

    async def one_more() -> Message:
        return rerun()

    async def nothing(_: Message) -> None:
        pass

    to_the_end(run())


def test_what_asks_for_no_run_takes_no_place() -> None:
    assert visitor_limits.asks_for_a_run(rerun())
    for other in (rerun("stop_script"), {"type": "websocket.receive", "bytes": b"\xff\xff"}, {"text": "x"}):
        assert not visitor_limits.asks_for_a_run(other)


def test_a_class_of_three_hundred_behind_one_address_is_not_kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each opens a page of 0.1 s of work, then looks every two seconds for 0.02 s: that is within every share."""
    clock, worked, waits = Clock(), Clock(), set[float]()

    async def sleep(seconds: float, real: Callable[..., Any] = asyncio.sleep) -> None:
        waits.add(seconds)
        await real(0)

    monkeypatch.setattr(visitor_limits.asyncio, "sleep", sleep)
    monkeypatch.setattr(visitor_limits, "Bucket", lambda *of: Bucket(*of, clock=clock))
    monkeypatch.setattr(visitor_limits.time, "process_time", worked)

    async def receive() -> Message:
        return rerun()

    async def send(_: Message) -> None:
        pass

    async def look(share: FairShare, learner: int, seconds: float) -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            worked.now += seconds
            await send(end(DONE))

        share._app = app
        await share(scope(f"{learner:032x}"), receive, send)

    async def run() -> None:
        share = FairShare(None)  # type: ignore[arg-type]
        for learner in range(300):
            await look(share, learner, 0.1)
        for _ in range(100):
            clock.now += 2
            for learner in (0, 150, 299):
                await look(share, learner, 0.02)

    to_the_end(run())
    assert waits == {0}


def test_the_limits_are_told_as_they_are() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    told = " ".join((ROOT / "docs" / "classroom.md").read_text(encoding="utf-8").split())
    work = f"{visitor_limits.WORK_AT_ONCE:.0f} seconds, then half a second a second | it waits its turn"
    assert visitor_limits.WORK_A_SECOND == 0.5
    for text in (
        f"requests | {LIMITS['VISITOR_REQUESTS']} a second, {LIMITS['VISITOR_BURST']} at once |",
        f"messages of open pages | {MESSAGES_A_SECOND:.0f} a second, {AT_ONCE} at once |",
        f"| {RUNS_AT_ONCE} pages at once; {work}, {visitor_limits.LONGEST_WAIT:.0f} seconds at most |",
        f"recordings sent | {LIMITS['UPLOADS']} a minute, {LIMITS['UPLOADS_BURST']} at once |",
        f"a message | {config['server']['maxWidgetStateSize']} MB |",
        f"open tabs | {MOST_PAGES} in a process |",
        f"wrong codes of a class | {rate_limits.CODES.of_visitor} in ten minutes | this browser waits ten minutes |",
        f"classes opened | {rate_limits.CLASSES.of_visitor} an hour | this browser waits an hour |",
        f"classes joined for the first time | {rate_limits.SEATS.of_visitor} an hour | this browser waits an hour |",
        f"A class holds {MAX_LEARNERS} learners:",
        "(for a day a hash of their browser's token stays for that)",
        f"{LIMITS['UNNAMED_REQUESTS']} first pages a second",
        f"{LIMITS['ADDRESS_REQUESTS']} requests a second, {LIMITS['ADDRESS_PAGES']} open pages",
        f"{visitor_limits.RUNS_OF_ADDRESS} pages that work at once in a process",
        f"{rate_limits.CODES.of_address} wrong codes in ten minutes, {rate_limits.CLASSES.of_address} classes an hour",
    ):
        assert text in told, text
    assert rate_limits.CLASSES.of_address == rate_limits.SEATS.of_address
    assert rate_limits.IN_USE_SECONDS == 24 * 3600
    assert [one.seconds for one in (rate_limits.CODES, rate_limits.CLASSES, rate_limits.SEATS)] == [600, 3600, 3600]
    assert LIMITS["UNNAMED_BURST"] >= 300
    assert LIMITS["ADDRESS_PAGES"] >= 3 * 300
