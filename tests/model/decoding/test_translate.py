"""The model without the app: a sentence in, a sentence out."""

import io
import sys

import pytest

from model import translate as command
from model.decoding.strategies import Beam, Decoding, Greedy
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import LoadedModel, load_folder
from model.trace import MAX_TOKENS, trace
from model.translate import translate
from tests.oracle.passes.decode import german


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load_folder()


@pytest.mark.parametrize("sentence", ["I ate an apple", "The boy sees the girl.", "  It’s   late. "])
def test_it_says_what_the_oracle_says(loaded: LoadedModel, sentence: str) -> None:
    assert translate(loaded, sentence, Greedy()) == german(sentence)


def test_a_sentence_is_tidied_and_cut_as_in_the_app(loaded: LoadedModel) -> None:
    for sentence in ("He said: “It’s\tlate”.", "the cat sat " * 99):
        assert translate(loaded, sentence, Greedy(12)) == trace(loaded, sentence, decoding=Greedy(12)).translation
    # More than there are positions for: uncut it could not be read at all.
    assert len(loaded.tokenizer.encode("the cat sat " * 99)) > loaded.config.max_len
    cut = loaded.tokenizer.decode(loaded.tokenizer.encode("the cat sat " * 99)[:MAX_TOKENS])
    assert translate(loaded, "the cat sat " * 99, Greedy(12)) == translate(loaded, cut, Greedy(12))


def test_nothing_gives_nothing(loaded: LoadedModel) -> None:
    assert translate(loaded, " \n", Greedy()) == ""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Decoding]:
    """How the command asks for translations, which then are what was to be translated."""
    calls: list[Decoding] = []

    def translated(loaded: LoadedModel, sentence: str, decoding: Decoding) -> str:
        calls.append(decoding)
        return f"<{sentence.strip()}>"

    monkeypatch.setattr(command, "load_folder", lambda: None)
    monkeypatch.setattr(command, "translate", translated)
    monkeypatch.setattr(command.torch, "set_num_threads", lambda n: None)
    return calls


@pytest.mark.parametrize(
    ("typed", "decoding"), [([], Beam(4)), (["--beam", "1"], Greedy()), (["--beam", "2"], Beam(2))]
)
def test_the_beam_that_is_typed_is_used(
    typed: list[str], decoding: Decoding, asked: list[Decoding], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["translate", "A dog.", *typed])
    assert command.main() == 0
    assert asked == [decoding]


def test_sentences_are_arguments_or_else_lines(
    asked: list[Decoding], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("third\nfourth\n"))
    monkeypatch.setattr(sys, "argv", ["translate", "first", "second"])
    command.main()
    monkeypatch.setattr(sys, "argv", ["translate"])
    command.main()
    assert capsys.readouterr().out.split() == ["<first>", "<second>", "<third>", "<fourth>"]


def test_a_model_that_cannot_be_read_ends_the_command_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise CheckpointError("The model file is missing.")

    monkeypatch.setattr(command, "load_folder", broken)
    monkeypatch.setattr(command.torch, "set_num_threads", lambda n: None)
    monkeypatch.setattr(sys, "argv", ["translate", "A dog."])
    assert command.main() == 1
    assert capsys.readouterr() == ("", "The model file is missing.\n")
