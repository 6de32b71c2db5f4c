"""Running English as ids: documents of sentences, read from files."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from model.text.tokenizer import Tokenizer, normalise

Ids = NDArray[np.uint16]
# Behind a full stop and its closing quotes, if what follows may begin a sentence.
SENTENCE_END = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["']))\s+(?=["'A-Z])""")


def read_documents(paths: Iterable[Path]) -> Iterator[str]:
    """The documents of files, normalised. In a .tsv file each first column is one, once; else blank lines part them.

    Raises: ValueError, naming the file, if it holds no document
    """
    for path in paths:
        text, n_documents = path.read_text(encoding="utf-8"), 0
        if path.suffix == ".tsv":
            blocks: Iterable[str] = dict.fromkeys(line.partition("\t")[0] for line in text.splitlines())
        else:
            blocks = re.split(r"\n\s*\n", text)
        for block in blocks:
            if document := normalise(block):
                n_documents += 1
                yield document
        if not n_documents:
            raise ValueError(f"{path} holds no text")


@dataclass(frozen=True)
class Document:
    """Its sentences as ids, no special tokens; n_bytes: of its text in UTF-8."""

    sentences: tuple[Ids, ...]
    n_bytes: int

    @property
    def ids(self) -> Ids:
        return np.concatenate(self.sentences)


def read_corpus(paths: Sequence[Path], tokenizer: Tokenizer) -> list[Document]:
    """Documents cut into sentences and tokens. Sentence by sentence one gets the tokens of the whole: none crosses a
    space.

    Raises: ValueError, naming the file, if it holds no document
    """
    cut = [(SENTENCE_END.split(document), len(document.encode())) for document in read_documents(paths)]
    rows = iter(tokenizer.encode_batch([sentence for sentences, _ in cut for sentence in sentences]))
    return [
        Document(tuple(np.array(next(rows), dtype=np.uint16) for _ in sentences), n_bytes) for sentences, n_bytes in cut
    ]
