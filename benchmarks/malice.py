"""One client that wants everything, served as `make serve` does, and what another visitor waits.

`python -m benchmarks.malice`. It opens 500 connections and asks for 50 heavy pages a second on each of the first eight
that it gets: with a cookie, without one, and with a made-up one for each connection, as 500 visitors would. It attacks
the server that it starts, on this machine, and no other.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import cycle
from uuid import uuid4

from benchmarks.classroom import cookies_of
from benchmarks.kit.report import Figure, percentile, report
from benchmarks.kit.sentences import sentences
from benchmarks.kit.serving import Server, serve_many
from benchmarks.kit.visitor import Visitor, visitor
from benchmarks.kit.wire import Wire, wire
from benchmarks.load import P95_BAR_SECONDS
from serving import VISITOR_COOKIE
from serving.streamlit_private import BackMsg

SOCKETS, LOUD, MESSAGES_A_SECOND = 500, 8, 50
SECONDS, PAUSE_SECONDS = 30.0, 0.5
HEAVY = ("multi-head", "inference", "encoder", "positions-six-ways", "self-attention")
KINDS = "with a cookie", "without one", "with made-up ones"


class Attack:
    """One client. refused: connections that it did not get; sent: messages"""

    def __init__(self, server: Server, kind: str) -> None:
        self._server, self._kind = server, kind
        self._own = cookies_of(server.url)
        self._pages = cycle(HEAVY)
        self._new = sentences(seed=7)
        self.open = self.loud = self.refused = self.sent = 0

    def _cookies(self) -> str:
        return {KINDS[0]: self._own, KINDS[1]: "", KINDS[2]: f"{VISITOR_COOKIE}={uuid4().hex}"}[self._kind]

    async def _ask(self, one: Wire) -> None:
        message = BackMsg()
        message.rerun_script.page_name = next(self._pages)
        message.rerun_script.query_string = f"sentence={next(self._new)}"
        await one.send(message.SerializeToString())
        self.sent += 1

    async def _socket(self, end: float) -> None:
        """One connection: a flood or, where there are eight, one page."""
        opened = False
        with suppress(ConnectionError):
            async with wire(self._server.stream, self._cookies()) as one:
                opened = True
                self.open += 1
                loud = self.loud < LOUD
                self.loud += loud
                reading = asyncio.create_task(_read(one))
                await self._ask(one)
                while time.perf_counter() < end:
                    await asyncio.sleep(1 / MESSAGES_A_SECOND if loud else 1.0)
                    if loud:
                        await self._ask(one)
                reading.cancel()
                return
        self.refused += not opened

    async def run(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        tasks = []
        for _ in range(SOCKETS):
            tasks.append(asyncio.create_task(self._socket(end)))
            await asyncio.sleep(0.005)  # 200 a second, so that it does not wait for itself
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(one: Wire) -> None:
    with suppress(ConnectionError):
        while True:
            await one.recv()


async def _type(someone: Visitor, new: Iterator[str], seconds: float) -> list[float]:
    """A new sentence again and again. Returns: what each waited, in seconds; one without an answer waited for all"""
    waits, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        answer = await someone.type(sentence := next(new))
        waits.append(seconds if answer.fault(sentence) else answer.seconds)
        await asyncio.sleep(PAUSE_SECONDS)
    return waits


async def _attacked(server: Server, kind: str, seconds: float) -> tuple[list[float], list[float], Attack]:
    new, attack = sentences(seed=KINDS.index(kind)), Attack(server, kind)
    async with visitor(server.stream, cookies_of(server.url)) as someone:
        before = await _type(someone, new, seconds / 3)
        attacking = asyncio.create_task(attack.run(seconds))
        during = await _type(someone, new, seconds)
        await attacking
    return before, during, attack


def measure(seconds: float = SECONDS) -> list[Figure]:
    found = []
    for kind in KINDS:
        with serve_many(os.cpu_count() or 1) as server:
            before, during, attack = asyncio.run(_attacked(server, kind, seconds))
        found += figures(kind, before, during, attack)
    return found


def figures(kind: str, before: Sequence[float], during: Sequence[float], attack: Attack) -> list[Figure]:
    """Args: before, during: what another visitor waited, in seconds"""
    name = f"malice, {kind}"
    # Five hundred made-up visitors are a class of five hundred: the machine shares itself among them.
    bar = None if kind == KINDS[2] else P95_BAR_SECONDS
    return [
        Figure(f"{name}: connections refused, of {SOCKETS}", attack.refused, ""),
        Figure(f"{name}: messages sent", attack.sent, ""),
        Figure(f"{name}: another visitor waits, p95 before", percentile(before, 95), "s"),
        Figure(f"{name}: another visitor waits, median", percentile(during, 50), "s"),
        Figure(f"{name}: another visitor waits, p95", percentile(during, 95), "s", bar),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.malice", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each of the three attacks")
    report(measure(parser.parse_args().seconds))
