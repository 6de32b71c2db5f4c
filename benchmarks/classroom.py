"""A hundred learners typing at once, served as `make serve` does: `python -m benchmarks.classroom`.

With `--seconds 900` it shows whether their memory stays as it is.
"""

import argparse
import asyncio
import os
import urllib.request
from collections.abc import Iterator
from statistics import mean

import psutil

from benchmarks.kit.report import Figure, report
from benchmarks.kit.sentences import sentences
from benchmarks.kit.serving import Server, serve_many
from benchmarks.load import Answers, crowd, figures

VISITORS = 100
SECONDS = 60.0
PAUSE = (4.5, 5.5)  # seconds from one sentence to the next
WARM = 10, 40.0, (0.5, 1.0)  # visitors, seconds and pauses that fill the caches first
LOOK_SECONDS = 5.0  # from one look at the memory to the next
VISITOR_BAR_MB = 5
GROWTH_BAR = 1.05  # memory in the last third of the time, as a multiple of the middle one: what counts as flat


def _cookies(url: str) -> str:
    """What the proxy gives a new browser to keep, as it sends it back."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        given = answer.headers.get_all("Set-Cookie", [])
    return "; ".join(one.partition(";")[0] for one in given)


class _Processes:
    """What `make serve` runs: the processes of the app, and those of the proxy that serve."""

    def __init__(self, server: Server) -> None:
        own = psutil.Process(server.process.pid).children()
        self.apps = [one for one in own if "streamlit" in one.cmdline()]
        (proxy,) = (one for one in own if one not in self.apps)
        self.proxy = [one for one in proxy.children() if "worker process" in " ".join(one.cmdline())]

    def memory_mb(self) -> float:
        """Resident memory of the app, in units of 10⁶ bytes."""
        return sum(float(one.memory_info().rss) for one in self.apps) / 1e6

    def seconds(self) -> tuple[float, float, float]:
        """Processor time used so far: by the app, by the proxy, by this program."""
        app, proxy = (sum(sum(one.cpu_times()[:2]) for one in group) for group in (self.apps, self.proxy))
        return app, proxy, sum(psutil.Process().cpu_times()[:2])


async def _class(
    server: Server, processes: _Processes, new: Iterator[str], n: int, seconds: float
) -> tuple[Answers, float, list[float]]:
    """What the learners typed and got, the seconds it took, and the memory of the app from time to time."""
    cookies, memory = [_cookies(server.url) for _ in range(n)], []
    work = asyncio.ensure_future(crowd(server.stream, cookies, new, seconds, PAUSE))
    while not work.done():
        await asyncio.wait([work], timeout=LOOK_SECONDS)
        memory.append(processes.memory_mb())
    return *(await work), memory


def measure(n: int = VISITORS, seconds: float = SECONDS) -> list[Figure]:
    with serve_many(os.cpu_count() or 1) as server:
        processes, new = _Processes(server), sentences(seed=100)
        few, warm_seconds, often = WARM
        cookies = [_cookies(server.url) for _ in range(few)]
        asyncio.run(crowd(server.stream, cookies, new, warm_seconds, often))
        before, used = processes.memory_mb(), processes.seconds()
        answers, took, memory = asyncio.run(_class(server, processes, new, n, seconds))
        spent = [1e3 * (now - then) / len(answers) for now, then in zip(processes.seconds(), used, strict=True)]
    name, third = f"classroom: {n} visitors", len(memory) // 3
    work = f"{name}, processor time of an answer"
    return [
        *figures(name, answers, took),
        *(Figure(f"{work}, {whose}", ms, "ms") for whose, ms in zip(("app", "proxy", "measuring"), spent, strict=True)),
        Figure(f"{name}, memory of each", (mean(memory[-third:]) - before) / n, "MB", VISITOR_BAR_MB),
        Figure(f"{name}, memory, end / middle", mean(memory[-third:]) / mean(memory[third:-third]), "x", GROWTH_BAR),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classroom", description=__doc__.splitlines()[0])
    parser.add_argument("--visitors", type=int, default=VISITORS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    report(measure(given.visitors, max(given.seconds, 4 * LOOK_SECONDS)))
