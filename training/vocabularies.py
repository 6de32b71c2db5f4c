"""The other ways to cut text: `python -m training.vocabularies DATA… --out FOLDER`.

Trains, on the same text as the model's own byte-pair encoding and to the same size, a WordPiece, a Unigram and a word
vocabulary (files of the `tokenizers` library).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers, trainers

from model.config import PRESETS
from training.loop.data import Pair, read_pairs

UNKNOWN = "<unk>"


def train_vocabularies(pairs: Sequence[Pair], vocab_size: int) -> dict[str, Backend]:
    """WordPiece, Unigram and word tokenizers of `vocab_size` entries, by name."""
    lines = [side for pair in pairs for side in pair]
    wordpiece = Backend(models.WordPiece(unk_token=UNKNOWN))
    wordpiece.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    wordpiece.decoder = decoders.WordPiece()
    unigram = Backend(models.Unigram())
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.decoder = decoders.Metaspace()
    words = Backend(models.WordLevel(unk_token=UNKNOWN))
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    for backend, trainer in (
        (wordpiece, trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=[UNKNOWN], show_progress=False)),
        (
            unigram,
            trainers.UnigramTrainer(
                vocab_size=vocab_size, special_tokens=[UNKNOWN], unk_token=UNKNOWN, show_progress=False
            ),
        ),
        (words, trainers.WordLevelTrainer(vocab_size=vocab_size, special_tokens=[UNKNOWN], show_progress=False)),
    ):
        backend.train_from_iterator(lines, trainer)
    return {"wordpiece": wordpiece, "unigram": unigram, "words": words}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.vocabularies", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, help="files with one `English<TAB>German` a line")
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.data)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, backend in train_vocabularies(pairs, PRESETS["base"].vocab_size).items():
        backend.save(str(arguments.out / f"{name}.json"), pretty=False)


if __name__ == "__main__":
    main()
