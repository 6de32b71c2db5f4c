"""More sentence pairs, one side written by a model.

back:     the model reads German, and each line is a German sentence: the German side of a pair is real, the English one
          is written, and begins with MARK.
forward:  the model reads English, and each line is `English<TAB>German`, or English alone: the German side is written
          anew, once for each English sentence.

Source: Sennrich et al. 2016, "Improving neural machine translation models with monolingual data", §3; the mark:
Caswell et al. 2019, "Tagged back-translation"; forward: Kim and Rush 2016, "Sequence-level knowledge distillation",
§3.2. After a kill the work goes on behind the last chunk that was written.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from model.text.tokenizer import normalise
from training.loop.folders import write_whole

Translate = Callable[[Sequence[str]], list[str]]

MARK = "¤"  # nobody types it, so what follows it in training is known as written by a model
LINES_AT_ONCE = 1000  # sorted by length before they are cut into batches; a kill costs at most these
LONGEST_RATIO = 2.0  # of words on the two sides; beyond it a model went round in circles or stopped halfway


def is_sensible(source: str, written: str) -> bool:
    """Whether a written sentence may be a translation: not empty, no copy, not much longer or shorter."""
    n_source, n_written = len(source.split()), len(written.split())
    return (
        n_written > 0
        and written != source
        and max(n_source, n_written) <= LONGEST_RATIO * min(n_source, n_written) + 2  # short ones vary more
    )


def pairs_back(translate: Translate, german: Sequence[str]) -> list[str]:
    """`MARK English<TAB>German` of each German sentence for which something sensible is written."""
    written = map(normalise, translate(german))
    return [f"{MARK} {e}\t{g}" for e, g in zip(written, german, strict=True) if is_sensible(g, e)]


def pairs_forward(translate: Translate, english: Sequence[str]) -> list[str]:
    """`English<TAB>German`, the German written, of each English sentence that is translated sensibly."""
    written = map(normalise, translate(english))
    return [f"{e}\t{g}" for e, g in zip(english, written, strict=True) if is_sensible(e, g)]


DIRECTIONS = {"back": pairs_back, "forward": pairs_forward}


def chunks(paths: Iterable[Path]) -> Iterator[list[str]]:
    """What stands on the lines of all files, up to a tab, normalised and LINES_AT_ONCE at a time; empty ones and those
    that came before are left out.
    """
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
    sentences = iter(dict.fromkeys(normalise(line.partition("\t")[0]) for line in lines))
    filled = (sentence for sentence in sentences if sentence)
    while chunk := list(itertools.islice(filled, LINES_AT_ONCE)):
        yield chunk


def write_pairs(direction: str, translate: Translate, paths: Sequence[Path], out: Path) -> Iterator[tuple[int, int]]:
    """Write the pairs of one chunk after another, one file each, in the folder OUT.parts; in the end all into `out`.

    Yields: lines read and pairs written, of each chunk that was not yet written
    """
    parts = out.with_name(f"{out.name}.parts")
    parts.mkdir(parents=True, exist_ok=True)
    for number, chunk in enumerate(chunks(paths)):
        part = parts / f"{number:05}.tsv"
        if part.exists():
            continue
        pairs = DIRECTIONS[direction](translate, chunk)
        write_whole(part, "".join(f"{pair}\n" for pair in pairs))
        yield len(chunk), len(pairs)
    write_whole(out, "".join(part.read_text(encoding="utf-8") for part in sorted(parts.glob("*.tsv"))))
