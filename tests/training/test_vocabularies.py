"""The other ways to cut text: trained on both sides, to the size asked for; the common English words."""

import itertools
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Backend

from model.config import PRESETS
from tests.training.conftest import write_pairs
from training import vocabularies
from training.vocabularies import train_vocabularies

PAIRS = [("The dog runs, the dog sleeps.", "Der Hund läuft, der Hund schläft.")] * 5 + [
    ("I don't know Tom's 2 dogs", "Ich kenne Toms 2 Hunde nicht")
] * 4


@pytest.fixture(scope="module")
def trained() -> dict[str, Backend]:
    return train_vocabularies(PAIRS, 79)


def test_both_sides_are_learned(trained: dict[str, Backend]) -> None:
    for name, backend in trained.items():
        for text in ("dog", "Hund"):
            assert backend.encode(text).tokens[-1].lstrip("▁") == text, name


@pytest.mark.parametrize("vocab_size", [50, 110])
def test_each_is_as_large_as_asked(vocab_size: int) -> None:
    words = ["".join(letters) for letters in itertools.product("abcdefg", repeat=3)]
    pairs = [(" ".join(words[:200]), " ".join(words[150:]))] * 3
    for name, backend in train_vocabularies(pairs, vocab_size).items():
        assert backend.get_vocab_size() == vocab_size, name


def test_words_have_no_way_to_write_an_unknown_one_and_pieces_do(trained: dict[str, Backend]) -> None:
    assert trained["words"].encode("dogs Hundl").tokens == ["dogs", "<unk>"]
    assert trained["wordpiece"].encode("Hundl").tokens == ["Hund", "##l"]
    assert trained["unigram"].encode("Hundl").tokens == ["▁Hund", "l"]
    for name, backend in trained.items():
        unknown = backend.token_to_id("<unk>")
        assert unknown == 0
        assert backend.encode("☃").ids[-1] == unknown, name


def test_pieces_are_joined_to_text_again(trained: dict[str, Backend]) -> None:
    for name in ("wordpiece", "unigram"):
        assert trained[name].decode(trained[name].encode("der Hundl").ids) == "der Hundl", name


def test_words_are_cut_at_spaces_and_marks(trained: dict[str, Backend]) -> None:
    assert trained["words"].encode("The dog, the dog.").tokens == ["The", "dog", ",", "the", "dog", "."]
    assert trained["wordpiece"].encode("The dog, the dog.").tokens == ["The", "dog", ",", "the", "dog", "."]


def test_the_command_writes_all_three_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    backends = train_vocabularies(PAIRS, 79)

    def watched(pairs: list[tuple[str, str]], vocab_size: int) -> dict[str, Backend]:
        asked.append((pairs, vocab_size))
        return backends

    monkeypatch.setattr(vocabularies, "train_vocabularies", watched)
    first, second = write_pairs(tmp_path / "a.tsv", PAIRS[:5]), write_pairs(tmp_path / "b.tsv", PAIRS[5:])
    out = tmp_path / "new" / "out"
    monkeypatch.setattr(sys, "argv", ["vocabularies", str(first), str(second), "--out", str(out)])
    vocabularies.main()
    assert asked == [(PAIRS, PRESETS["base"].vocab_size)]
    assert {path.stem for path in out.iterdir()} == set(backends)
    for name, backend in backends.items():
        assert Backend.from_file(str(out / f"{name}.json")).get_vocab() == backend.get_vocab()


def test_the_shipped_vocabularies_have_the_models_size() -> None:
    folder = Path(__file__).parents[2] / "assets" / "vocabularies"
    for name in ("wordpiece", "unigram", "words"):
        assert Backend.from_file(str(folder / f"{name}.json")).get_vocab_size() == 8000
