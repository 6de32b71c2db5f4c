"""What the heads of four tasks answer about a text."""

import copy
import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.family import four_tasks
from experiments.family.four_tasks import PARAPHRASE, QUESTION, SENTIMENT, TAGS, WORD, answer, chances, tags
from model.adapting.fine_tuned import FineTunedReader
from model.files.loaded_model import LoadedModel
from model.parts.task_heads import file_of, learning_in, save_task
from model.text.tokenizer import CLS_ID, SEP_ID
from tests.family import small
from training.loop.finetune_loop import train_only

HEADS = ((SENTIMENT, "text", 2), (PARAPHRASE, "text", 2), (QUESTION, "tokens", 2), (TAGS, "tokens", 5))
FIRST, SECOND = (11, 12, 13, 14, 15), (21, 22, 23)


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoadedModel:
    """A small BERT with a random head for each task."""
    for task, head, n_classes in HEADS:
        model = FineTunedReader(copy.deepcopy(small("bert-mini").model), n_classes, head)  # type: ignore[arg-type]
        train_only(model, learning_in(model.network, head, 1))
        torch.nn.init.normal_(model.head.weight)
        save_task(file_of(task, tmp_path), model)
    monkeypatch.setattr(four_tasks, "file_of", lambda task: file_of(task, tmp_path))
    return dataclasses.replace(small("bert-mini"))  # another object, for which no heads are remembered


def scores(loaded: LoadedModel, task: str, ids: tuple[int, ...], n_first: int) -> np.ndarray:
    model = four_tasks.fine_tuned(loaded, task)
    segments = [0] * n_first + [1] * (len(ids) - n_first)
    return model(torch.tensor([ids]), torch.tensor([segments]))[0].numpy()


def softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_classes_of_a_text_and_of_a_pair(loaded: LoadedModel) -> None:
    alone = scores(loaded, SENTIMENT, (CLS_ID, *FIRST, SEP_ID), 7)
    assert np.allclose(chances(loaded, SENTIMENT, FIRST), softmax(alone), atol=1e-6)
    pair = scores(loaded, PARAPHRASE, (CLS_ID, *FIRST, SEP_ID, *SECOND, SEP_ID), 7)
    assert np.allclose(chances(loaded, PARAPHRASE, FIRST, SECOND), softmax(pair), atol=1e-6)


@pytest.mark.parametrize("text", [FIRST, FIRST[:1], FIRST * 4])
def test_the_answer_is_the_likeliest_span_of_the_text(loaded: LoadedModel, text: tuple[int, ...]) -> None:
    found = answer(loaded, SECOND, text)
    both = softmax(scores(loaded, QUESTION, (CLS_ID, *SECOND, SEP_ID, *text, SEP_ID), 5).T)
    begins, ends = both[:, 5:-1]
    spans = {(i, j): begins[i] * ends[j] for i in range(len(text)) for j in range(i, len(text))}
    assert (found.first, found.last) == max(spans, key=spans.__getitem__)
    assert found.probability == pytest.approx(max(spans.values()), rel=1e-4)


def test_no_answer_ends_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.array([[0, 0], [0, 0], [0, 0], [0.1, 0.7], [0.2, 0.1], [0.6, 0.15], [0.1, 0.05], [0, 0]])
    monkeypatch.setattr(four_tasks, "chances", lambda *given: ends)
    found = answer(small("bert-mini"), FIRST[:1], FIRST[:4])
    assert (found.first, found.last, found.probability) == (2, 2, pytest.approx(0.6 * 0.15))


def test_a_word_gets_the_tag_of_its_first_token(loaded: LoadedModel) -> None:
    likely = tags(loaded, ((11, 12), (13,), (14, 15)))
    of_tokens = softmax(scores(loaded, TAGS, (CLS_ID, *FIRST, SEP_ID), 7))
    assert np.allclose(likely, of_tokens[[1, 3, 4]], atol=1e-6)


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
