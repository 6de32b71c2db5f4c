"""Five ways to cut a text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from model.files.checkpoint import SHIPPED
from model.text.tokenizations import UNKNOWN, Cut, characters, cuts
from model.text.tokenizer import Tokenizer, normalise

TOKENIZER = Tokenizer.load(SHIPPED / "tokenizer.json")


def by_method(text: str) -> dict[str, Cut]:
    return {cut.method: cut for cut in cuts(text, TOKENIZER)}


def test_an_ordinary_sentence() -> None:
    found = by_method("I ate an apple")
    assert found["Words"].pieces == ("I", "ate", "an", "apple")
    assert found["Characters"].pieces == tuple("I ate an apple")
    assert found["Unigram"].pieces == (" I", " ate", " an", " apple")
    assert all(cut.rebuilt and cut.n_unknown == 0 for cut in found.values())


def test_wordpiece_marks_what_is_inside_a_word() -> None:
    pieces = by_method("Donaudampfschifffahrtsgesellschaft")["WordPiece"].pieces
    assert not pieces[0].startswith("##")
    assert all(piece.startswith("##") for piece in pieces[1:])
    assert "".join(piece.removeprefix("##") for piece in pieces) == "Donaudampfschifffahrtsgesellschaft"


def test_a_script_never_seen_is_lost_to_all_but_bytes() -> None:
    found = by_method("ฉันชอบสุนัข")
    assert found["Words"].pieces == found["WordPiece"].pieces == (UNKNOWN,)
    assert found["Characters"].n_unknown == 11
    assert found["Words"].back == found["WordPiece"].back == UNKNOWN  # not nothing: one sees that something is lost
    for method, cut in found.items():
        assert cut.rebuilt == (method == "Byte-pair encoding")
        assert (cut.n_unknown == 0) == cut.rebuilt


def test_what_comes_back_tells_spaces_from_signs() -> None:
    found = by_method("don't")
    assert found["Words"].back == "don ' t"
    assert found["Words"].only_spaces_differ
    assert not found["Words"].rebuilt
    assert not found["Unigram"].only_spaces_differ
    assert not by_method("Grüße")["Words"].only_spaces_differ
    assert not by_method("<unk>")["WordPiece"].rebuilt  # typed, and lost all the same


@given(st.text(max_size=50))
@settings(max_examples=200)
def test_any_text(text: str) -> None:
    text = normalise(text)
    found = by_method(text)
    assert len(found) == 5
    assert found["Byte-pair encoding"].rebuilt
    assert len(found["Characters"].pieces) == len(text)
    assert found["Characters"].rebuilt == (set(text) <= characters())


def test_vocabularies_as_large_as_the_models_own_and_few_characters() -> None:
    sizes = {method: cut.vocab_size for method, cut in by_method("a").items()}
    assert sizes.pop("Characters") == len(characters()) + 1 < 300
    assert set(sizes.values()) == {TOKENIZER.vocab_size}
