"""What the heads of four tasks answer about a text."""

import numpy as np
import pytest

from experiments.family import four_tasks
from experiments.family.four_tasks import WORD, answer
from tests.family import small


def test_no_answer_ends_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.array([[0, 0], [0, 0], [0, 0], [0.1, 0.7], [0.2, 0.1], [0.6, 0.15], [0.1, 0.05], [0, 0]])
    monkeypatch.setattr(four_tasks, "chances", lambda *given: ends)
    found = answer(small("bert-mini"), (11,), (11, 12, 13, 14))
    assert (found.first, found.last, found.probability) == (2, 2, pytest.approx(0.6 * 0.15))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't know.", "I do n't know ."),
        ("Can't Tom's dog, which they'll see, wait?", "Ca n't Tom 's dog , which they 'll see , wait ?"),
        ("I've, you're, it'd I'm", "I 've , you 're , it 'd I 'm"),
        ("'Stop!' he said - n't", "' Stop ! ' he said - n't"),
        ("<b>12</b>  äöü_x", "< b > 12 < / b > äöü_x"),
        ("", ""),
    ],
)
def test_words_are_cut_as_the_tags_were_learned(text: str, words: str) -> None:
    assert WORD.findall(text) == words.split()
