"""No visitor gets more than a share: of the messages that a process reads, of its work, of the pages it serves at once.

The proxy counts requests (`nginx.conf`). What a page sends afterwards travels inside one long connection, where no
proxy can count it; that is counted here. Nothing is refused but pages: what is beyond a share waits, unread. Visitors
whom no cookie names share one share at their address. Without the proxy, on a machine of one's own, nobody is counted.
"""

import asyncio
import heapq
import itertools
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakValueDictionary

from google.protobuf.message import DecodeError
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving import BEHIND_PROXY, MOST_PAGES, NAMED, TOO_MANY_PAGES, UNNAMED, VISITOR_COOKIE
from serving.streamlit_private import BackMsg, ForwardMsg

# A key that is held down sends about 30 messages a second for as long as anybody holds it.
MESSAGES_A_SECOND, MESSAGES_AT_ONCE = 20.0, 100.0
# A learner's page works 0.1 s now and then; who works on and on gets half of the time, half a minute later.
WORK_A_SECOND, WORK_AT_FIRST, WORK_AT_ONCE = 0.5, 3.0, 20.0  # seconds of the processor
LONGEST_WAIT = 5.0  # seconds, for work done before
RUNS_AT_ONCE, RUNS_OF_ADDRESS = 2, 4  # of one visitor; of all at one address: more would only share one core
LEASE_SECONDS = 2.0  # for so long a run counts for its address: it may wait for a stranger's model
LOST_SECONDS = 10.0  # without a sign of life, after which a run whose end was not heard no longer counts
BEGUN_SECONDS = 1.0  # after which no second run follows a first any more
CLOSED_SECONDS = 1.0  # for so long a run goes on whose page was closed
KEPT_SECONDS = 60.0  # a share without a page is remembered: who connects anew does not begin anew
SHORT_BYTES = 1000  # what tells that a run has begun or is over is shorter
_GOES_ON = ForwardMsg.FINISHED_EARLY_FOR_RERUN


class Bucket:
    """So much at first, later so much at once, refilled by so much a second. It may be overdrawn: then one waits."""

    def __init__(
        self, first: float, at_once: float, a_second: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._at_once, self._a_second, self._clock = at_once, a_second, clock
        self.left, self._seen = first, clock()

    def take(self, amount: float, most_wait: float = float("inf")) -> float:
        """Take an amount, which may be 0. Returns: seconds until it is there, 0 if at once; at most `most_wait`"""
        now = self._clock()
        left = min(self._at_once, self.left + (now - self._seen) * self._a_second) - amount
        self.left, self._seen = max(left, -most_wait * self._a_second), now
        return max(0.0, -self.left / self._a_second)


class Gate:
    """Lets so many in at once. Of those who wait, whoever has more left of their work goes before: a second of work is
    worth a second of waiting, so that nobody waits for ever.
    """

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = itertools.count()

    async def enter(self, left: float) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (time.monotonic() - left, next(self._count), turn))
        await turn

    def leave(self) -> None:
        while self._waiting:
            turn = heapq.heappop(self._waiting)[-1]
            if not turn.done():  # else its page is gone
                turn.set_result(None)
                return
        self._free += 1


class Share:
    """What one visitor has of a process: pages, messages, seconds of work, and runs at once."""

    def __init__(self) -> None:
        self.pages = 0
        self.messages = Bucket(MESSAGES_AT_ONCE, MESSAGES_AT_ONCE, MESSAGES_A_SECOND)
        self.work = Bucket(WORK_AT_FIRST, WORK_AT_ONCE, WORK_A_SECOND)
        self.gate = Gate(RUNS_AT_ONCE)


class Runs:
    """The runs of one page: the first message begins one, those that come meanwhile change or repeat it."""

    def __init__(self, share: Share, of_address: Gate, going_on: "set[Runs]") -> None:
        """Args: going_on: the pages of the process that run"""
        self._share, self._of_address, self._going_on = share, of_address, going_on
        self._charged: float | None = None  # until when the run has been counted as work; None: there is none
        self._over = asyncio.Event()
        self._again = False  # a message came that may begin another run after this one
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}

    async def begin(self) -> None:
        """A message that asks for a run is about to be read. Waits until its visitor has a share left."""
        if self._charged is not None:
            await self._over_in(self._charge())
        if self._charged is None:
            await self._share.gate.enter(0.0)
            await asyncio.sleep(self._share.work.take(0.0, LONGEST_WAIT))
            await self._of_address.enter(self._share.work.left)
            self._charged = time.process_time()
            self._going_on.add(self)
            self._over.clear()
            self._later(LEASE_SECONDS, self._leave_address)
        elif self._never_began not in self._timers:  # else no run goes on that this could change or repeat
            self._again = True
        self._later(LOST_SECONDS, self._end)

    def began(self) -> None:
        """A run has begun."""
        self._stop(self._never_began)

    def heard(self, status: int) -> None:
        """A run has ended."""
        if self._charged is None:
            return
        self._charge()
        again, self._again = self._again, False
        if status != _GOES_ON and not again:
            self._end()
        elif status != _GOES_ON:  # two messages may also have become one run, or one may have asked for what is gone
            self._later(BEGUN_SECONDS, self._never_began)

    def close(self) -> None:
        """The page was closed: a run that goes on ends soon."""
        if self._charged is not None:
            self._charge()
            self._later(CLOSED_SECONDS, self._end)

    def _charge(self) -> float:
        """Count what was worked since the last time: of what the process did, a part like that of each other run.

        Returns: how long the next message waits for it, in seconds
        """
        assert self._charged is not None
        worked, self._charged = time.process_time() - self._charged, time.process_time()
        return self._share.work.take(worked / len(self._going_on), LONGEST_WAIT)

    async def _over_in(self, seconds: float) -> None:
        """Wait so long, or until the run is over."""
        if seconds:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), seconds)

    def _later(self, seconds: float, do: Callable[[], None]) -> None:
        self._stop(do)
        self._timers[do] = asyncio.get_running_loop().call_later(seconds, do)

    def _stop(self, do: Callable[[], None]) -> bool:
        """What was to be done later is not; whether there was such a thing."""
        timer = self._timers.pop(do, None)
        if timer:
            timer.cancel()
        return timer is not None

    def _leave_address(self) -> None:
        if self._stop(self._leave_address):
            self._of_address.leave()

    def _never_began(self) -> None:
        self._end()

    def _end(self) -> None:
        for timer in (self._end, self._never_began):
            self._stop(timer)
        if self._charged is not None:
            self._charged = None
            self._going_on.discard(self)
            self._over.set()
            self._leave_address()
            self._share.gate.leave()


def asks_for_a_run(message: Message) -> bool:
    try:
        return BackMsg.FromString(message.get("bytes") or b"").WhichOneof("type") == "rerun_script"
    except DecodeError:
        return False  # the server closes such a connection


def listen(message: Message, runs: Runs) -> None:
    """Note that a run has begun or ended, if this says so."""
    data = message.get("bytes") or b""
    if message["type"] != "websocket.send" or len(data) > SHORT_BYTES:
        return
    said = ForwardMsg.FromString(data)
    kind = said.WhichOneof("type")
    if kind == "script_finished":
        runs.heard(said.script_finished)
    elif kind == "session_status_changed" and said.session_status_changed.script_is_running:
        runs.began()


class FairShare:
    """ASGI middleware: messages and work beyond a visitor's share wait, unread; pages beyond it are marked."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._shares: dict[str, Share] = {}
        self._going_on: set[Runs] = set()
        self._gates: WeakValueDictionary[str, Gate] = WeakValueDictionary()  # by address
        self._closed: OrderedDict[str, float] = OrderedDict()  # since when shares have no page, the longest first

    def _open(self, name: str) -> Share:
        """One more page. Shares that were without one for long are forgotten."""
        while self._closed and time.monotonic() - next(iter(self._closed.values())) > KEPT_SECONDS:
            del self._shares[self._closed.popitem(last=False)[0]]
        self._closed.pop(name, None)
        share = self._shares.setdefault(name, Share())
        share.pages += 1
        return share

    def _close(self, name: str) -> None:
        self._shares[name].pages -= 1
        if not self._shares[name].pages:
            self._closed[name] = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket" or BEHIND_PROXY not in HTTPConnection(scope).headers:
            await self._app(scope, receive, send)
            return
        cookie = HTTPConnection(scope).cookies.get(VISITOR_COOKIE, "")
        named = re.fullmatch("[0-9a-f]{32}", cookie) is not None
        address = str((scope.get("client") or ("",))[0])
        name = cookie if named else f"at {address}"
        share = self._open(name)
        runs = Runs(share, self._gates.setdefault(address, Gate(RUNS_OF_ADDRESS)), self._going_on)

        async def in_turn() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                await asyncio.sleep(share.messages.take(1.0))
                if asks_for_a_run(message):
                    await runs.begin()
            return message

        async def listening(message: Message) -> None:
            listen(message, runs)
            await send(message)

        if share.pages > MOST_PAGES:
            mark = (TOO_MANY_PAGES.encode(), (NAMED if named else UNNAMED).encode())
            scope = {**scope, "headers": [*scope["headers"], mark]}
        try:
            await self._app(scope, in_turn, listening)
        finally:
            runs.close()
            self._close(name)
