"""A hundred learners typing at once, served as `make serve` does: `python -m benchmarks.classroom`."""

import asyncio
import os
import urllib.request

import psutil

from benchmarks.load import crowd, figures
from benchmarks.report import Figure, report
from benchmarks.serving import Server, serve_many

VISITORS = 100
SECONDS = 60.0
PAUSE = (4.5, 5.5)  # seconds from one sentence to the next
VISITOR_BAR_MB = 5


def _cookies(url: str) -> str:
    """What the proxy gives a new browser to keep, as it sends it back."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        given = answer.headers.get_all("Set-Cookie", [])
    return "; ".join(one.partition(";")[0] for one in given)


def _memory_mb(server: Server) -> float:
    """Resident memory of the app's processes together, in units of 10⁶ bytes."""
    children = psutil.Process(server.process.pid).children()
    return sum(float(one.memory_info().rss) for one in children if "streamlit" in one.cmdline()) / 1e6


def measure(n: int = VISITORS, seconds: float = SECONDS) -> list[Figure]:
    with serve_many(os.cpu_count() or 1) as server:
        asyncio.run(crowd(server.stream, [_cookies(server.url) for _ in range(10)], 10.0, (0.5, 1.0)))  # fills caches
        before = _memory_mb(server)
        answers, took = asyncio.run(crowd(server.stream, [_cookies(server.url) for _ in range(n)], seconds, PAUSE))
        each = (_memory_mb(server) - before) / n
    name = f"classroom: {n} visitors"
    return [*figures(name, answers, took), Figure(f"{name}, memory of each", each, "MB", VISITOR_BAR_MB)]


if __name__ == "__main__":
    report(measure())
