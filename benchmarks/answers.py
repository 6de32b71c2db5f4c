"""How many bytes an answer of the home page takes on the wire, for a new sentence of eight words.

They are counted as they come to a browser: deflated, and without what it keeps of the answer before.
"""

import asyncio
import itertools
from statistics import mean

from benchmarks.kit.report import Figure, report
from benchmarks.kit.sentences import sentences
from benchmarks.kit.serving import serve
from benchmarks.kit.visitor import visitor

WORDS, BAR_KB = 8, 120
SENTENCES = 20


async def sizes(stream: str, typed: list[str]) -> list[float]:
    """The kB of the answer to each sentence, typed one after the other on the home page."""
    async with visitor(stream) as someone:
        answers = [await someone.type(sentence) for sentence in typed]
    faults = [fault for one, answer in zip(typed, answers, strict=True) if (fault := answer.fault(one))]
    assert not faults, faults
    return [answer.size_bytes / 1e3 for answer in answers]


def measure() -> list[Figure]:
    typed = itertools.islice((one for one in sentences(seed=100) if len(one.split()) == WORDS), SENTENCES)
    with serve() as server:
        found = asyncio.run(sizes(server.stream, list(typed)))
    name = f"answer of the home page to {WORDS} words"
    return [
        Figure(f"{name}, mean", mean(found), "kB", BAR_KB),
        Figure(f"{name}, largest of {SENTENCES}", max(found), "kB", BAR_KB),
    ]


if __name__ == "__main__":
    report(measure())
