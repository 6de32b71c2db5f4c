"""The comparison with other programs: all do the same work, times become ratios, and README.md tells what was found."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import peers
from benchmarks.kit.engines import CTranslate2, Engine, Here, Transformers, exported
from hub.export.agree import DECODINGS
from model.files.checkpoint import PROJECT
from model.text.tokenizer import EOS_ID, SOS_ID

TEXTS = ("I ate an apple.", "My sister wants to learn German this summer.", "Go")


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> tuple[Here, Transformers, CTranslate2]:
    folder = exported(tmp_path_factory.mktemp("peers"))
    theirs = Transformers(folder, peers.CPU)
    return Here(peers.CPU), theirs, CTranslate2(theirs, folder / "converted")


@pytest.mark.parametrize("search", DECODINGS)
def test_all_write_the_same(engines: Sequence[Engine], search: str) -> None:
    here, *others = engines
    written = [here.translate(text, search) for text in TEXTS]
    assert all(written)
    for other in others:
        assert [other.translate(text, search) for text in TEXTS] == written


def test_translations_are_compared_with_those_from_here() -> None:
    found = peers.agreement({"greedy": {"here": ["a", "b"], "one": ["a", "c"], "two": ["a", "b"]}})
    assert found == {"greedy": {"here": 2, "one": 1, "two": 2}}


def test_in_one_batch_all_write_what_they_write_one_at_a_time(engines: Sequence[Engine]) -> None:
    for engine in engines:
        assert engine.translate_together(TEXTS) == [engine.translate(text, "greedy") for text in TEXTS]


def test_as_many_tokens_are_written_as_were_asked_for(
    engines: tuple[Here, Transformers, CTranslate2], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a cache each is computed once; without one, all of them at every step."""
    here, theirs, third = engines
    written: list[Any] = []

    def watch(owner: Any, name: str, what: Any) -> None:
        method = getattr(owner, name)

        def watched(*given: Any, **named: Any) -> Any:
            result = method(*given, **named)
            written.append(what(result))
            return result

        monkeypatch.setattr(owner, name, watched)

    watch(here.loaded.model, "decode", lambda logits: logits.size(1))
    watch(theirs.model, "generate", lambda ids: ids.size(1) - 1)
    src = [*range(41, 50), EOS_ID]
    for engine, cached in itertools.product((here, theirs), (True, False)):
        engine.write(src, 7, cached)
    assert written == [*[1] * 7, *range(1, 8), 7, 7]

    watched = CTranslate2.__new__(CTranslate2)
    watched.__dict__ |= third.__dict__ | {"translator": Counting(third.translator)}
    watched.write(src, 7, cached=True)
    assert watched.translator.lengths == [7]


class Counting:
    """CTranslate2's translator, which is written in C++, and how long each of its translations was."""

    def __init__(self, translator: Any) -> None:
        self.translator, self.lengths = translator, []

    def translate_batch(self, *given: Any, **named: Any) -> Any:
        results = self.translator.translate_batch(*given, **named)
        self.lengths += [len(result.hypotheses[0]) for result in results]
        return results


def test_both_read_the_same_pass(engines: tuple[Here, Transformers, CTranslate2], tmp_path: Path) -> None:
    here, theirs = engines[0], Transformers(exported(tmp_path), peers.CPU, "eager")
    src, tgt = [*range(41, 50), EOS_ID], [SOS_ID, *range(71, 76)]
    recorded, bare = here.read(src, tgt, recorded=True), here.read(src, tgt, recorded=False)
    returned = theirs.read(src, tgt)
    assert recorded.equal(bare)
    assert (recorded - returned.logits).abs().max() < 1e-4
    config = here.loaded.config
    assert len(returned.cross_attentions) == len(returned.decoder_attentions) == config.n_layers
    assert len(returned.encoder_hidden_states) == config.n_layers + 1


def test_a_ratio_is_the_median_of_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only works move on: here 1, 2, 3… seconds, the other always 4. Each begins every other round."""
    clock, round_, order = 0.0, 0, ""

    def here() -> None:
        nonlocal clock, round_, order
        clock, round_, order = clock + round_, round_ + 1, order + "h"

    def other() -> None:
        nonlocal clock, order
        clock, order = clock + 4, order + "o"

    monkeypatch.setattr(peers, "now", lambda device: clock)
    row = peers.compare("work", {"here": here, "another": other}, 10, peers.CPU, {"another": 0.8})
    assert row.milliseconds == {"here": 500, "another": 400}
    assert row.ratios == {"another": 1.25}
    assert row.in_readme == "| work | 500.00 ms | another 1.25 (bar 0.8) |"
    assert order == "hooh" * 5


def test_time_is_told_for_each_token_that_is_written_and_each_text_ends_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Echo:
        name = "here"

        def translate(self, text: str, search: str) -> str:
            return text

    seen: list[tuple[str, int]] = []
    monkeypatch.setattr(peers, "compare", lambda what, works, per, device, bars: seen.append((what, per)))
    peers.writing([Echo()], ["Hund", "Der Hund."], peers.CPU)  # type: ignore[list-item]
    per = sum(len(ids) + 1 for ids in peers.load_tokenizer().encode_batch(["Hund", "Der Hund."]))
    assert [one for _, one in seen] == [per] * 3


def test_the_readme_tells_what_was_measured() -> None:
    results = json.loads(peers.FILE.read_text(encoding="utf-8"))
    readme = (PROJECT / "README.md").read_text(encoding="utf-8").splitlines()
    assert set(peers.readme_lines(results)) <= set(readme)
    every = dict.fromkeys(("here", "transformers", "CTranslate2"), peers.SENTENCES)
    # Of “Tom looks puzzled.” CTranslate2 finds a likelier translation, which the search here finds with 8 beams.
    but_one = {**every, "CTranslate2": peers.SENTENCES - 1}
    assert results["same_translations"] == {"greedy": every, "beam 4": but_one}


def test_the_file_is_written_and_each_ratio_is_a_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: list[dict[str, Any]] = [
        {"what": "w", "milliseconds": {"here": 1.0, "x": 2.0}, "ratios": {"x": 0.5}, "bars": {"x": 0.4}}
    ]
    asked: list[Sequence[str]] = []

    def compared(texts: Sequence[str], source: str) -> dict[str, Any]:
        asked.append(texts)
        return {"sentences": source, "rows": rows}

    monkeypatch.setattr(peers, "compare_all", compared)
    monkeypatch.setattr(peers, "FILE", tmp_path / "benchmarks.json")
    test = tmp_path / "test.tsv"
    test.write_text("A dog.\tEin Hund.\nA dog.\tHund.\nA cat.\tEine Katze.\n", encoding="utf-8")
    rows[0]["in_readme"] = "| w |"  # of each row, as README shows it
    monkeypatch.setattr(peers, "readme_lines", lambda results: [one["in_readme"] for one in results["rows"]])
    monkeypatch.setattr("sys.argv", ["peers", str(test)])
    peers.main()
    assert capsys.readouterr().out == "| w |\n"
    kept = peers.FILE.read_text()
    assert json.loads(kept) == {"sentences": "test.tsv", "rows": rows}
    del rows[0]["in_readme"]
    (figure,) = peers.measure()
    assert (figure.name, figure.value, figure.missed) == ("peers: w, here / x", 0.5, True)
    assert peers.FILE.read_text() == kept  # what README shows is written by its own command alone
    assert asked[0] == ["A dog.", "A cat."]
    assert len(set(asked[1])) == peers.SENTENCES
