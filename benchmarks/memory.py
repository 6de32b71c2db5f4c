"""The server's memory: with its first visitor, after many different sentences, and with every model used."""

import asyncio
from contextlib import AsyncExitStack
from urllib.parse import parse_qsl, urlencode

import psutil

from benchmarks.kit.report import Figure, report
from benchmarks.kit.sentences import sentences
from benchmarks.kit.serving import Server, serve
from benchmarks.kit.visitor import visitor
from hub.open_models import own_models
from model.files.loaded_model import sibling_names, snapshot_steps
from tests.course import LESSONS

VISITORS = 5
FEW, MANY = 100, 500  # sentences
IDLE_BAR_MB = 600
EVERY_BAR_MB = 1400
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


def _addresses() -> list[tuple[str, str]]:
    """Pages and their settings that use, taken together, every model of the app, each on a sentence of its own."""
    places = [(lesson.slug, "") for lesson in LESSONS]
    places += [("positions-six-ways", f"positions_sibling_2={name}") for name in sibling_names()]
    places += [("how-it-learned", f"snapshot={step}") for step in snapshot_steps("plain-1")]
    places += [("fine-tuning", "trial=Four tasks"), ("compare", ""), ("bertviz", "")]
    places += [("any-model", f"model={name}") for name in own_models()]
    new = sentences(seed=8)
    return [(page, urlencode([("sentence", next(new)), *parse_qsl(query)])) for page, query in places]


async def _use_every_model(server: Server) -> tuple[float, float]:
    """Memory in MB of the server, and of the processes that it has started, pages of memory in common counted once."""
    async with visitor(server.stream) as one:
        for page, query in _addresses():
            error = (await one.open_page(page, query)).error
            assert not error, f"{page}?{query}: {error}"
    others = psutil.Process(server.process.pid).children(recursive=True)
    return server.memory_mb, sum(process.memory_full_info().pss for process in others) / 1e6


def measure() -> list[Figure]:
    with serve() as server:
        idle, few, many = asyncio.run(_visit(server))
        every, others = asyncio.run(_use_every_model(server))
    return figures(idle, few, many, every, others)


def figures(idle: float, few: float, many: float, every: float, others: float) -> list[Figure]:
    """Args: MB of the server in the order of time; others: of the processes that it has started"""
    return [
        Figure("memory: first page", idle, "MB", IDLE_BAR_MB),
        Figure(f"memory: after {FEW} sentences", few, "MB"),
        Figure(f"memory: after {MANY} sentences", many, "MB"),
        Figure(f"memory: {MANY} / {FEW} sentences", many / few, "x", GROWTH_BAR),
        Figure("memory: then every model used", every, "MB", EVERY_BAR_MB),
        Figure("memory: the processes of strangers' models and trainings beside it", others, "MB"),
    ]


if __name__ == "__main__":
    report(measure())
