"""What the tokenization lesson shows: cards for a matrix, and merge rules for arithmetic."""

import re

from tests.oracle.formula import agree
from tests.oracle.forward import bytes_of, merges, replayed, source_ids, tokenizer
from tests.truth.reading import Seen, expect
from ui.views.attention_kinds import READABLE


def check_pieces(seen: Seen, sentence: str) -> None:
    ids, entry = source_ids(sentence), tokenizer().id_to_token
    (data,) = seen.components
    assert len(data["cards"]) == min(len(ids), READABLE)
    for (_, (raw, id_text), _, _), id in zip(data["cards"], ids, strict=False):
        assert id_text == f"id {id}"
        assert raw == ("added" if id < 3 else bytes_of(entry(id)).hex(" ").upper())
    text = tokenizer().decode(ids[:-1])
    assert seen.codes[:2] == [str(ids), text]
    chosen = ids[data["selected"][1]]
    ranks = replayed(entry(chosen)) if chosen >= 3 else []
    joins = [rank for known in seen.texts for rank in re.findall(r"\d+\. Rule \*\*([\d,]+)\*\*", known)]
    assert [int(rank.replace(",", "")) for rank in joins] == ranks
    n_bytes = len(bytes_of(entry(chosen))) if chosen >= 3 else 0
    made = [ranks[-1], 3, 256, 0, 1] if ranks else [3, 258]
    known = {
        r"\d+ characters?, ": [len(text), len(text.encode()), len(ids) - 1],
        "This one stands for no text": [3, chosen, 0],
        "It starts as ": [n_bytes],
        r"1\\\. ": made,
        r"\d+ of the [\d,]+ merge rules": [len(ranks), len(merges()), 1, 2],
        "Shown: the first ": [READABLE, len(ids)],
    }
    for text in seen.texts:
        if found := re.match(r"\*\*How did .* become (\d+)\?\*\*", text):
            assert int(found[1]) == chosen
        elif text.startswith("$"):
            formula = text.strip("$").replace(r"\text{id}", "x")
            assert (float(formula.rpartition("=")[2]) if "x" in formula else agree(formula)) == chosen
        elif re.search(r"\d", text) and not re.match(r"\d+\. Rule", text):
            (numbers,) = (n for begins, n in known.items() if re.match(begins, text))
            expect(re.sub(r"`.*?`|^1\\\.", "", text), numbers)
    for line in seen.codes[2].splitlines():
        if found := re.match(r"(.*)  # (\d+)$", line):
            scope = {"t": tokenizer(), "merges": [list(pair) for pair in merges()]}
            assert eval(found[1], scope) == int(found[2]), line
