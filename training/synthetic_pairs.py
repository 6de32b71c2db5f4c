"""More sentence pairs, one side written by a model: `python -m training.synthetic_pairs back RUN FILE… --out OUT`.

back:     RUN reads German (it was trained with `--reversed`), each line of FILE is a German sentence: the German side
          of a pair is real, the English one is written, and begins with MARK.
forward:  RUN reads English, each line of FILE is `English<TAB>German`: the German side is written anew.

Source: Sennrich et al. 2016, "Improving neural machine translation models with monolingual data", §3; the mark:
Caswell et al. 2019, "Tagged back-translation"; forward: Kim and Rush 2016, "Sequence-level knowledge distillation",
§3.2. The same command again after a kill goes on behind the last chunk that was written.
"""

import argparse
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.progress import track

from experiments.writing.batched_translation import translate_together
from model.files.loaded_model import LoadedModel, load_folder
from model.text.tokenizer import normalise

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


def pairs_back(loaded: LoadedModel, lines: Sequence[str]) -> list[str]:
    """`MARK English<TAB>German` of each German line for which the model writes something sensible."""
    german = [normalise(line) for line in lines]
    written = translate_together(loaded, german)
    return [f"{MARK} {e}\t{g}" for e, g in zip(written, german, strict=True) if is_sensible(g, e)]


def pairs_forward(loaded: LoadedModel, lines: Sequence[str]) -> list[str]:
    """`English<TAB>German`, the German written by the model, of each pair whose English it translates sensibly."""
    english = [normalise(line.partition("\t")[0]) for line in lines]
    written = translate_together(loaded, english)
    return [f"{e}\t{g}" for e, g in zip(english, written, strict=True) if is_sensible(e, g)]


DIRECTIONS = {"back": pairs_back, "forward": pairs_forward}


def chunks(paths: Iterable[Path]) -> Iterator[list[str]]:
    """The lines of all files, LINES_AT_ONCE at a time; empty ones and those that came before are left out."""
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
    distinct = iter(dict.fromkeys(line for line in lines if line.strip()))
    while chunk := list(itertools.islice(distinct, LINES_AT_ONCE)):
        yield chunk


def write_pairs(direction: str, loaded: LoadedModel, paths: Sequence[Path], out: Path) -> Iterator[tuple[int, int]]:
    """Write the pairs of one chunk after another into folder `out`, one file each.

    Yields: lines read and pairs written, of each chunk that was not yet written
    """
    out.mkdir(parents=True, exist_ok=True)
    for number, chunk in enumerate(chunks(paths)):
        part = out / f"{number:05}.tsv"
        if part.exists():
            continue
        pairs = DIRECTIONS[direction](loaded, chunk)
        unfinished = part.with_suffix(".new")
        unfinished.write_text("".join(f"{pair}\n" for pair in pairs), encoding="utf-8")
        unfinished.rename(part)
        yield len(chunk), len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.synthetic_pairs", description=__doc__)
    parser.add_argument("direction", choices=sorted(DIRECTIONS))
    parser.add_argument("run", type=Path, help="folder of a trained model")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True, help="the file of pairs; its parts lie in OUT.parts")
    arguments = parser.parse_args()
    parts = arguments.out.with_name(f"{arguments.out.name}.parts")
    n_chunks = sum(1 for _ in chunks(arguments.files))
    n_read = n_written = 0
    work = write_pairs(arguments.direction, load_folder(arguments.run), arguments.files, parts)
    for read, written in track(work, "writing", total=n_chunks):
        n_read, n_written = n_read + read, n_written + written
    whole = (part.read_text(encoding="utf-8") for part in sorted(parts.glob("*.tsv")))
    arguments.out.write_text("".join(whole), encoding="utf-8")
    print(f"{n_read:,} lines read, {n_written:,} pairs written; with those of earlier starts: {arguments.out}")


if __name__ == "__main__":
    main()
