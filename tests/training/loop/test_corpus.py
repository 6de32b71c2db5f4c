"""Text from files: what counts as a document and a sentence, and that no token is lost."""

from pathlib import Path

import pytest

from tests.family import small_tokenizer
from training.loop.corpus import SENTENCE_END, read_corpus, read_documents


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_blank_lines_part_documents_and_single_ones_do_not(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "\n\nOne line.\nStill  the “first”.\n \n\t\nThe second.\n\n\n")
    assert list(read_documents([file])) == ['One line. Still the "first".', "The second."]


def test_a_table_gives_each_first_column_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", "Go.\tGeh.\nStop!\tHalt!\nGo.\tGehen Sie.\n\tnichts\n")
    text = write(tmp_path / "b.txt", "Go.")
    assert list(read_documents([file, text])) == ["Go.", "Stop!", "Go."]


def test_a_file_without_text_is_named(tmp_path: Path) -> None:
    full, empty = write(tmp_path / "full.txt", "Go."), write(tmp_path / "empty.txt", " \n\n\t\n")
    with pytest.raises(ValueError, match=r"empty\.txt holds no text$"):
        list(read_documents([full, empty]))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("He ran. She did not! Why? I know.", ["He ran.", "She did not!", "Why?", "I know."]),
        ('"Go!" he said. "No." "Yes?"', ['"Go!" he said.', '"No."', '"Yes?"']),
        ("It cost 3.50 dollars. then he left", ["It cost 3.50 dollars. then he left"]),
        ("'Go.' 'I won't.' 7 cats", ["'Go.'", "'I won't.' 7 cats"]),
    ],
)
def test_a_sentence_ends_where_another_may_begin(text: str, sentences: list[str]) -> None:
    assert SENTENCE_END.split(text) == sentences


def test_sentence_by_sentence_one_gets_the_tokens_of_the_whole(tmp_path: Path) -> None:
    texts = ['The cat sat. "The dog," said Tom, "sees a Käfer." Tom has 2 dogs!', "A dog sees the cat."]
    tokenizer = small_tokenizer()
    documents = read_corpus([write(tmp_path / "a.txt", "\n\n".join(texts))], tokenizer)
    assert [document.ids.tolist() for document in documents] == [tokenizer.encode(text) for text in texts]
    assert [len(document.sentences) for document in documents] == [3, 1]
    assert [document.n_bytes for document in documents] == [len(texts[0]) + 1, len(texts[1])], "ä takes two bytes"
