"""Measure how a model came to translate: `python -m training.measure.forming FILE.tsv [--limit N]`.

FILE has one `English<TAB>German` a line. Every snapshot of a model's training reads and translates the first sentences;
see `experiments.training.forming.Snapshot` for what is measured. It is written to the model's forming.json.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import track

from experiments.attention.head_roles import aligned_words, fingerprint
from experiments.passes import forward
from experiments.training.forming import MEASURED, Snapshot, aligned_shares, cross_weights
from experiments.training.losses import costs_of_all
from model.decoding.strategies import Greedy
from model.files.checkpoint import snapshot
from model.files.loaded_model import AT, MODELS, LoadedModel, load_model, snapshot_steps
from model.text.tokenizer import EOS_ID, SOS_ID
from model.trace import Trace, trace
from training.evaluate import references
from training.measure.heads import DIGITS, SOURCE

N_SENTENCES = 200
N_COMMON = 20  # of the most frequent tokens of the German, end marks not counted
MAX_STEPS = 40  # of a translation: early snapshots find no end


@dataclass(frozen=True)
class Pair:
    """A sentence pair. labels: the German, ending in `<eos>`; written: what the last snapshot writes; aligned: see
    `experiments.attention.head_roles.aligned_words`."""

    labels: tuple[int, ...]
    written: Trace
    aligned: tuple[int, ...]

    @property
    def english(self) -> tuple[int, ...]:
        return self.written.src_ids


def pairs_of(last: LoadedModel, english: Sequence[str], german: Sequence[str]) -> list[Pair]:
    """Args: last: the last snapshot"""
    pairs = []
    for source, target in zip(english, german, strict=True):
        written = trace(last, source, decoding=Greedy(MAX_STEPS))
        labels = (*last.tokenizer.encode(target), EOS_ID)
        pairs.append(Pair(labels, written, aligned_words(last, written.src, written.labels)))
    return pairs


def groups_of(pairs: Sequence[Pair], n_common: int) -> dict[int, str]:
    """The group of every token of the German: "end", "common" or "other"."""
    counts = Counter(id for pair in pairs for id in pair.labels if id != EOS_ID)
    common = {id for id, _ in counts.most_common(n_common)}
    return {EOS_ID: "end"} | {id: "common" if id in common else "other" for id in counts}


def measure(loaded: LoadedModel, step: int, pairs: Sequence[Pair], groups: dict[int, str]) -> Snapshot:
    """One snapshot over all pairs."""
    own = elsewhere = 0.0
    seen: Counter[str] = Counter()
    right: Counter[str] = Counter()
    ends_elsewhere = 0
    written: Counter[str] = Counter()
    shares, n_aligned = np.zeros(()), 0
    for pair, other in zip(pairs, [*pairs[1:], pairs[0]], strict=True):
        costs = costs_of_labels(loaded, pair.english, pair.labels)
        own += float(costs[np.arange(len(pair.labels)), list(pair.labels)].sum())
        for id, best in zip(pair.labels, costs.argmin(1), strict=True):
            seen[groups[id]] += 1
            right[groups[id]] += int(id == best)
            ends_elsewhere += int(best == EOS_ID != id)
        costs = costs_of_labels(loaded, other.english, pair.labels)
        elsewhere += float(costs[np.arange(len(pair.labels)), list(pair.labels)].sum())
        written[trace(loaded, pair.written.text, decoding=Greedy(MAX_STEPS)).translation] += 1
        weights, n_rows = cross_weights(loaded, pair.english, pair.written.tgt_ids), rows_aligned(pair)
        shares = shares + n_rows * aligned_shares(weights, pair.written.labels, pair.written.src, pair.aligned)
        n_aligned += n_rows
    ((repeated, times),) = written.most_common(1)
    return Snapshot(
        step=step,
        loss=round(own / seen.total(), DIGITS),
        loss_elsewhere=round(elsewhere / seen.total(), DIGITS),
        right={group: round(right[group] / n, DIGITS) for group, n in sorted(seen.items())},
        end_elsewhere=round(ends_elsewhere / (seen.total() - seen["end"]), DIGITS),
        different=len(written),
        repeated=repeated,
        times=times,
        aligned=by_head(shares / n_aligned),
    )


def costs_of_labels(loaded: LoadedModel, src: tuple[int, ...], labels: tuple[int, ...]) -> np.ndarray:
    """−ln P (T,V) of every token in the place of each label, given the labels before it."""
    return costs_of_all(forward(loaded, src, (SOS_ID, *labels[:-1]))["logits"])


def rows_aligned(pair: Pair) -> int:
    return sum(word >= 0 for word in pair.aligned)


def by_head(shares: np.ndarray) -> dict[str, float]:
    """Shares (L,H) by head: its layer, a dot, its number, both from 1."""
    return {
        f"{n + 1}.{h + 1}": round(float(share), DIGITS) for n, row in enumerate(shares) for h, share in enumerate(row)
    }


def equal_share(pairs: Sequence[Pair]) -> float:
    """The share that a head would have that gives every source token the same weight."""
    total = 0.0
    for pair in pairs:
        written = pair.written
        weights = np.full((1, 1, len(written.labels), len(written.src)), 1 / len(written.src))
        total += rows_aligned(pair) * float(aligned_shares(weights, written.labels, written.src, pair.aligned)[0, 0])
    return total / sum(map(rows_aligned, pairs))


def write(name: str, file: Path, limit: int, source: str = SOURCE, root: Path = MODELS) -> Path:
    """Measure a model's snapshots on the first `limit` English sentences of a file; returns the written file."""
    steps = snapshot_steps(name, root)
    groups = references(file, limit)
    pairs = pairs_of(
        load_model(f"{name}{AT}{steps[-1]}", root), list(groups), [german[0] for german in groups.values()]
    )
    kinds = groups_of(pairs, N_COMMON)
    snapshots = [
        asdict(measure(load_model(f"{name}{AT}{step}", root), step, pairs, kinds))
        for step in track(steps, "measuring", console=Console(stderr=True), transient=True)
    ]
    measured: dict[str, Any] = {
        "data": {"file": file.name, "sha256": fingerprint(file), "source": source},
        "command": f"python -m training.measure.forming {file.name} --limit {limit}",
        "model": {"name": name, "last": fingerprint(root / name / snapshot(steps[-1]))},
        "target": "the last snapshot's own greedy translation for the shares, the file's German for all else",
        "sentences": len(pairs),
        "common": N_COMMON,
        "equal": round(equal_share(pairs), DIGITS),
        "snapshots": snapshots,
    }
    target = root / name / MEASURED
    target.write_text(json.dumps(measured, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.measure.forming", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--limit", type=int, default=N_SENTENCES, help=f"English sentences (default: {N_SENTENCES})")
    parser.add_argument("--model", default="plain-1", help="name of a model with snapshots (default: plain-1)")
    parser.add_argument("--source", default=SOURCE, help="where the sentences come from (default: Tatoeba)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # sentence by sentence, more would only wait for one another
    print(write(arguments.model, arguments.file, arguments.limit, arguments.source))


if __name__ == "__main__":
    main()
