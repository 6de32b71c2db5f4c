"""Many learners typing at once on one server: how long each waits, and whether each gets their own answer."""

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack

from benchmarks.kit.report import Figure, percentile, report
from benchmarks.kit.sentences import sentences
from benchmarks.kit.serving import serve
from benchmarks.kit.visitor import Answer, Visitor, visitor

VISITORS = 25
SECONDS = 30.0
Pause = tuple[float, float]
PAUSE: Pause = (2.0, 3.0)  # seconds from one sentence to the next: at least, at most
P95_BAR_SECONDS = 1.0

Answers = list[tuple[str, Answer]]  # each with its sentence


async def _typist(
    someone: Visitor, new: Iterator[str], chance: random.Random, answers: Answers, seconds: float, pause: Pause
) -> None:
    """Send a new sentence after every pause, whether the answers are quick or slow."""
    end = time.perf_counter() + seconds
    due = time.perf_counter() + chance.uniform(0, pause[1])
    while due < end:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        sentence = next(new)
        answers.append((sentence, await someone.type(sentence)))
        due = max(due + chance.uniform(*pause), time.perf_counter())


async def crowd(
    stream: str, cookies: Sequence[str], new: Iterator[str], seconds: float, pause: Pause = PAUSE
) -> tuple[Answers, float]:
    """Every sentence of as many visitors as have cookies, and the seconds it all took. new: what they type"""
    answers: Answers = []
    async with AsyncExitStack() as stack:
        people = [await stack.enter_async_context(visitor(stream, each)) for each in cookies]
        start = time.perf_counter()
        await asyncio.gather(
            *(_typist(someone, new, random.Random(n), answers, seconds, pause) for n, someone in enumerate(people))
        )
        return answers, time.perf_counter() - start


def measure() -> list[Figure]:
    with serve() as server:
        answers, took = asyncio.run(crowd(server.stream, [""] * VISITORS, sentences(seed=100), SECONDS))
    return figures(f"load: {VISITORS} visitors", answers, took)


def figures(name: str, answers: Answers, took: float) -> list[Figure]:
    waits = [answer.seconds for _, answer in answers]
    faults = [fault for sentence, answer in answers if (fault := answer.fault(sentence))]
    if faults:
        print("First fault:", faults[0])
    return [
        Figure(f"{name}, errors", len(faults), "", 0),
        Figure(f"{name}, wait, median", percentile(waits, 50), "s"),
        Figure(f"{name}, wait, p95", percentile(waits, 95), "s", P95_BAR_SECONDS),
        Figure(f"{name}, answers", len(answers) / took, "per s"),
        Figure(f"{name}, size of an answer", sum(a.size_bytes for _, a in answers) / len(answers) / 1e3, "kB"),
    ]


if __name__ == "__main__":
    report(measure())
