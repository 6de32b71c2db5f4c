"""This project beside others that run the same model: `python -m benchmarks.peers [TEST.tsv]`.

All run on one thread of the processor, one after the other, round after round; the median of the rounds counts. A ratio
is the time here divided by the other's time in the same round, so that 0.5 means twice as fast. It is written to
assets/benchmarks.json, and the lines of README.md that tell it are printed. TEST.tsv has sentences in its first column;
without it they are made up.
"""

import argparse
import itertools
import json
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.kit.engines import CTranslate2, Engine, Here, Transformers, exported
from benchmarks.kit.report import Figure
from benchmarks.kit.sentences import sentences, sentences_of
from hub.export.agree import DECODINGS
from hub.export.agree import sentences_of as sentences_in
from model.files.checkpoint import PROJECT, load_tokenizer
from model.files.device import Device, pick_device
from model.text.tokenizer import EOS_ID, SOS_ID

FILE = PROJECT / "assets" / "benchmarks.json"
PACKAGES = ("torch", "transformers", "ctranslate2")
CPU = Device(torch.device("cpu"), "CPU")
ROUNDS, SENTENCES = 9, 100
LENGTHS, SOURCES = (8, 16, 32, 64), 5

RECORDED_BARS = {"nothing recorded": 1.1, "transformers": 0.9}
GREEDY_BARS = {"transformers": 0.5, "CTranslate2": 1.34}
TOGETHER_BARS, BEAM_BARS = {"CTranslate2": 1.5}, {"CTranslate2": 1.2}


@dataclass(frozen=True)
class Row:
    """One line of the table.

    milliseconds: the median of each, this project's (`here`) first; ratios: here / other, the median of the rounds;
    bars: the largest that a ratio may be
    """

    what: str
    milliseconds: dict[str, float]
    ratios: dict[str, float]
    bars: dict[str, float] = field(default_factory=dict)

    @property
    def here(self) -> float:
        return next(iter(self.milliseconds.values()))

    @property
    def in_readme(self) -> str:
        """A line of README.md's table."""
        told = [f"{other} {ratio:.2f}{self._bar(other)}" for other, ratio in self.ratios.items()]
        return f"| {self.what} | {self.here:.2f} ms | {'; '.join(told)} |"

    def _bar(self, other: str) -> str:
        return f" (bar {self.bars[other]:g})" if other in self.bars else ""


def compare(
    what: str, works: Mapping[str, Callable[[], object]], per: int, device: Device, bars: Mapping[str, float] = {}
) -> Row:
    """Time all works in turns, `per` of something each; the first, which is not counted, warms them up.

    Each round begins with another one: whoever always came behind the same would find the memory as that one left it.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    names = list(works)
    for round_ in range(ROUNDS + 1):
        for name in (*names[round_ % len(names) :], *names[: round_ % len(names)]):
            started = now(device)
            works[name]()
            if round_:
                seconds[name].append(now(device) - started)
    first, *others = seconds
    return Row(
        what,
        {name: round(1000 * median(many) / per, 3) for name, many in seconds.items()},
        {o: round(median(a / b for a, b in zip(seconds[first], seconds[o], strict=True)), 3) for o in others},
        dict(bars),
    )


def now(device: Device) -> float:
    """Seconds of the processor, which other programs do not prolong; of the clock, if a GPU computes."""
    if device.torch.type == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def reading(here: Here, theirs: Transformers, texts: Sequence[str], device: Device) -> Row:
    """One pass over each sentence and its translation, with every intermediate value recorded."""
    encode = here.loaded.tokenizer.encode
    pairs = [([*encode(text), EOS_ID], [SOS_ID, *encode(here.translate(text, "greedy"))]) for text in texts]
    works = {
        "here": lambda: [here.read(src, tgt, recorded=True) for src, tgt in pairs],
        "nothing recorded": lambda: [here.read(src, tgt, recorded=False) for src, tgt in pairs],
        "transformers": lambda: [theirs.read(src, tgt) for src, tgt in pairs],
    }
    bars = RECORDED_BARS if device is CPU else {}
    return compare(
        "one pass over a sentence and its translation, every number recorded", works, len(pairs), device, bars
    )


def writing(
    engines: Sequence[Engine], texts: Sequence[str], device: Device
) -> tuple[list[Row], dict[str, dict[str, list[str]]]]:
    """Translations: one at a time, all at once, with beams, each for a token that is written.

    Returns: the rows; what was written, by way of searching and by engine
    """
    written: dict[str, dict[str, list[str]]] = {search: {} for search in DECODINGS}

    def one_by_one(engine: Engine, search: str) -> None:
        written[search][engine.name] = [engine.translate(text, search) for text in texts]

    def together(engine: Engine, search: str) -> None:
        engine.translate_together(texts)

    tokenizer = load_tokenizer()
    ids = tokenizer.encode_batch([engines[0].translate(text, "greedy") for text in texts])
    n_tokens = sum(map(len, ids)) + len(texts)  # each ends with `<eos>`
    kinds: tuple[tuple[str, str, Callable[[Engine, str], None], Mapping[str, float]], ...] = (
        ("one at a time", "greedy", one_by_one, GREEDY_BARS),
        (f"{len(texts)} at once", "greedy", together, TOGETHER_BARS),
        ("one at a time, beam 4", "beam 4", one_by_one, BEAM_BARS),
    )
    rows = [
        compare(
            f"a token of a translation: {kind}",
            {engine.name: partial(work, engine, search) for engine in engines},
            n_tokens,
            device,
            bars if device is CPU else {},
        )
        for kind, search, work, bars in kinds
    ]
    return rows, written


def lengths(here: Here, theirs: Transformers, third: CTranslate2) -> list[Row]:
    """So many tokens written about as many read, with a key-value cache; beside it without one."""

    def write(engine: Engine, sources: Sequence[list[int]], n: int, cached: bool = True) -> Callable[[], object]:
        def work() -> None:
            for src in sources:
                engine.write(src, n, cached)

        return work

    rows = []
    for n in LENGTHS:
        texts = itertools.islice(sentences_of(n, seed=11), SOURCES)
        sources = [[*here.loaded.tokenizer.encode(text), EOS_ID] for text in texts]
        works = {
            "here": write(here, sources, n),
            "without a cache": write(here, sources, n, cached=False),
            "transformers": write(theirs, sources, n),
            "transformers without a cache": write(theirs, sources, n, cached=False),
            "CTranslate2": write(third, sources, n),
        }
        rows.append(compare(f"a token, {n} tokens read and written", works, n * len(sources), CPU))
    return rows


def agreement(written: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, dict[str, int]]:
    """How many translations are the same as here, by way of searching and by engine."""
    return {
        search: {name: sum(map(str.__eq__, texts, by_engine[Here.name])) for name, texts in by_engine.items()}
        for search, by_engine in written.items()
    }


def compare_all(texts: Sequence[str], source: str) -> dict[str, Any]:
    """What assets/benchmarks.json holds."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = exported(Path(name))
        here, theirs = Here(CPU), Transformers(folder, CPU)
        third = CTranslate2(theirs, Path(name) / "converted")
        rows, written = writing((here, theirs, third), texts, CPU)
        rows = [reading(here, Transformers(folder, CPU, "eager"), texts, CPU), *rows, *lengths(here, theirs, third)]
        device = pick_device()
        if device.torch.type == "cuda":
            here, theirs = Here(device), Transformers(folder, device)
            on_gpu = [reading(here, Transformers(folder, device, "eager"), texts, device)]
            on_gpu += writing((here, theirs), texts, device)[0]
            rows += [replace(row, what=f"{row.what}, on {device.label}") for row in on_gpu]
    return {
        "machine": f"{platform.machine()}, {platform.system()}, one thread",
        "versions": {package: version(package) for package in PACKAGES},
        "rounds": ROUNDS,
        "sentences": source,
        "same_translations": agreement(written),
        "rows": [asdict(row) for row in rows],
    }


def readme_lines(results: Mapping[str, Any]) -> list[str]:
    """The table of README.md."""
    return [Row(**row).in_readme for row in results["rows"]]


def compared(test: Path | None = None) -> dict[str, Any]:
    """On the first sentences of a file, or on made-up ones."""
    texts = sentences_in(test, SENTENCES) if test else list(itertools.islice(sentences(seed=11), SENTENCES))
    return compare_all(texts, test.name if test else "made up")


def measure() -> list[Figure]:
    """Every ratio as a figure. What README shows is kept: it is of a test, and of a machine where nothing else ran."""
    return [
        Figure(f"peers: {row.what}, here / {other}", ratio, "x", row.bars.get(other))
        for row in (Row(**one) for one in compared()["rows"])
        for other, ratio in row.ratios.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("test", type=Path, nargs="?", help="sentences to translate, in the first column")
    results = compared(parser.parse_args().test)
    FILE.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(*readme_lines(results), sep="\n")


if __name__ == "__main__":
    main()
