"""The server's memory: with its first visitor, and after many different sentences."""

import asyncio
from contextlib import AsyncExitStack

from benchmarks.report import Figure, report
from benchmarks.sentences import sentences
from benchmarks.serving import Server, serve
from benchmarks.visitor import visitor

VISITORS = 5
FEW, MANY = 100, 500  # sentences
IDLE_BAR_MB = 600
GROWTH_BAR = 1.05  # many, as a multiple of few: what counts as flat


async def _visit(server: Server) -> tuple[float, float, float]:
    """Memory in MB after the first page, after FEW and after MANY sentences."""
    new = sentences(seed=7)
    async with AsyncExitStack() as stack:
        people = [await stack.enter_async_context(visitor(server.stream))]
        await asyncio.sleep(1)
        idle, few = server.memory_mb, 0.0
        people += [await stack.enter_async_context(visitor(server.stream)) for _ in range(VISITORS - 1)]
        for n in range(1, MANY + 1):
            sentence = next(new)
            fault = (await people[n % VISITORS].type(sentence)).fault(sentence)
            assert not fault, fault
            if n == FEW:
                few = server.memory_mb
        return idle, few, server.memory_mb


def measure() -> list[Figure]:
    with serve() as server:
        idle, few, many = asyncio.run(_visit(server))
    return [
        Figure("memory: first page", idle, "MB", IDLE_BAR_MB),
        Figure(f"memory: after {FEW} sentences", few, "MB"),
        Figure(f"memory: after {MANY} sentences", many, "MB"),
        Figure(f"memory: {MANY} / {FEW} sentences", many / few, "x", GROWTH_BAR),
    ]


if __name__ == "__main__":
    report(measure())
