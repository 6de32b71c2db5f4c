"""Score the shipped model: `python -m training.evaluate FILE.tsv [--beam 4] [--limit N] [--as-typed]`.

FILE has one `English<TAB>German` a line, or is a path to which `.en` and `.de` are added; several lines of one English
sentence are its references. The last line
printed is JSON: {"bleu": …, "chrf": …, "sentences": …, "seconds": …}.
"""

import argparse
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from model.decoding.strategies import Beam, Decoding, Greedy
from model.files.checkpoint import SHIPPED
from model.files.loaded_model import LoadedModel, load_folder
from model.translate import translate
from training.loop.data import Pair, read_pairs


def references(path: Path, limit: int | None = None) -> dict[str, list[str]]:
    """Every German sentence of each English one, in the file's order; at most `limit` English ones."""
    return grouped(read_pairs([path]), limit)


def grouped(pairs: Iterable[Pair], limit: int | None = None) -> dict[str, list[str]]:
    """Every target of each source, in the order of the pairs; at most `limit` sources."""
    groups: dict[str, list[str]] = {}
    for source, target in pairs:
        if source in groups or limit is None or len(groups) < limit:
            groups.setdefault(source, []).append(target)
    return groups


def as_typed(english: str) -> str:
    """A sentence as many type it: small first letter, no final mark, curly apostrophes."""
    return (english[:1].lower() + english[1:]).rstrip(".!?").replace("'", "’") or english


def streams(groups: Sequence[Sequence[str]]) -> Any:
    """References by rank, as sacreBLEU takes them: stream r holds each sentence's r-th reference, or None.

    Returns: a list of lists; untyped, because sacreBLEU documents None but leaves it out of its types
    """
    return [[g[r] if r < len(g) else None for g in groups] for r in range(max(map(len, groups)))]


def evaluate(
    loaded: LoadedModel,
    groups: dict[str, list[str]],
    decoding: Decoding,
    typed: bool = False,
    tokenised: bool = False,
) -> dict[str, object]:
    """sacreBLEU and chrF, with their signatures, of the model's translations.

    Args:    groups: references of each English sentence; typed: change the English as `as_typed` does
             tokenised: words and marks stand apart already, so BLEU counts what spaces divide
    Returns: bleu, chrf (0–100), sentences, seconds, bleu_signature, chrf_signature
    """
    console = Console(stderr=True)
    started = time.perf_counter()
    sources = [as_typed(english) if typed else english for english in groups]
    hypotheses = [
        translate(loaded, source, decoding) for source in track(sources, "translating", console=console, transient=True)
    ]
    seconds = time.perf_counter() - started
    bleu, chrf = BLEU(tokenize="none") if tokenised else BLEU(), CHRF()
    expected = streams(list(groups.values()))
    return {
        "bleu": round(bleu.corpus_score(hypotheses, expected).score, 2),
        "chrf": round(chrf.corpus_score(hypotheses, expected).score, 2),
        "sentences": len(sources),
        "seconds": round(seconds, 1),
        "bleu_signature": str(bleu.get_signature()),
        "chrf_signature": str(chrf.get_signature()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.evaluate", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--beam", type=int, default=4, help="beam size; 1 is greedy (default 4)")
    parser.add_argument("--limit", type=int, help="use only the first N English sentences")
    parser.add_argument("--model", type=Path, default=SHIPPED, help="folder of another model than the shipped one")
    parser.add_argument(
        "--as-typed", action="store_true", help="small first letters, no final marks, curly apostrophes in the English"
    )
    parser.add_argument(
        "--tokenised", action="store_true", help="FILE is tokenised text: BLEU counts what spaces divide, as papers do"
    )
    arguments = parser.parse_args()
    decoding = Greedy() if arguments.beam <= 1 else Beam(arguments.beam)
    figures = evaluate(
        load_folder(arguments.model),
        references(arguments.file, arguments.limit),
        decoding,
        arguments.as_typed,
        arguments.tokenised,
    )
    for name in ("bleu_signature", "chrf_signature"):
        print(f"{name}: {figures.pop(name)}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
