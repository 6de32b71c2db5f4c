"""Many learners typing at once on one server: how long each waits, and whether each gets their own answer."""

import asyncio
import random
import time
from contextlib import AsyncExitStack

from benchmarks.report import Figure, percentile, report
from benchmarks.sentences import sentences
from benchmarks.serving import serve
from benchmarks.visitor import Answer, Visitor, visitor

VISITORS = 25
SECONDS = 30.0
PAUSE = (2.0, 3.0)  # seconds from one sentence to the next
P95_BAR_SECONDS = 1.0


async def _typist(someone: Visitor, n: int, answers: list[tuple[str, Answer]], seconds: float) -> None:
    """Send a new sentence every two or three seconds, whether the answers are quick or slow."""
    new, chance = sentences(seed=100 + n), random.Random(n)
    end = time.perf_counter() + seconds
    due = time.perf_counter() + chance.uniform(0, PAUSE[1])
    while due < end:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        sentence = next(new)
        answers.append((sentence, await someone.type(sentence)))
        due = max(due + chance.uniform(*PAUSE), time.perf_counter())


async def _crowd(stream: str, n: int, seconds: float) -> tuple[list[tuple[str, Answer]], float]:
    """Every sentence with its answer, and the seconds it all took."""
    answers: list[tuple[str, Answer]] = []
    async with AsyncExitStack() as stack:
        people = [await stack.enter_async_context(visitor(stream)) for _ in range(n)]
        start = time.perf_counter()
        await asyncio.gather(*(_typist(someone, i, answers, seconds) for i, someone in enumerate(people)))
        return answers, time.perf_counter() - start


def measure(n: int = VISITORS, seconds: float = SECONDS) -> list[Figure]:
    with serve() as server:
        answers, took = asyncio.run(_crowd(server.stream, n, seconds))
    waits = [answer.seconds for _, answer in answers]
    faults = [fault for sentence, answer in answers if (fault := answer.fault(sentence))]
    if faults:
        print("First fault:", faults[0])
    name = f"load: {n} visitors"
    return [
        Figure(f"{name}, errors", len(faults), "", 0),
        Figure(f"{name}, wait, median", percentile(waits, 50), "s"),
        Figure(f"{name}, wait, p95", percentile(waits, 95), "s", P95_BAR_SECONDS),
        Figure(f"{name}, answers", len(answers) / took, "per s"),
        Figure(f"{name}, size of an answer", sum(a.size_bytes for _, a in answers) / len(answers) / 1e3, "kB"),
    ]


if __name__ == "__main__":
    report(measure())
