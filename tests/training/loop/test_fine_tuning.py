"""Fine-tuning: what a task becomes, what its loss and its accuracy are, that the right weights learn."""

import copy
import math
from itertools import chain

import pytest
import torch

from model.adapting.fine_tuned import FineTunedReader, FineTunedWriter
from model.families.decoder_only import DecoderOnly
from model.families.encoder_only import Discriminator, EncoderOnly
from model.text.tokenizer import CLS_ID, EOS_ID, MASK_ID, PAD_ID, SEP_ID, SOS_ID
from tests.family import small, small_tokenizer
from training.loop.finetune_loop import (
    NO_LABEL,
    Accuracy,
    Example,
    accuracy,
    collate,
    fine_tune,
    loss_of,
    moved,
    parts_of,
    recipe,
    some_hidden,
    span_example,
    tags_example,
    text_example,
    train_only,
    weights_of,
    written_example,
)

TOKENIZER = small_tokenizer()
CAT, DOG = "The cat sat on the mat.", "A dog sees the cat."


def reader(n_classes: int = 2, head: str = "text") -> FineTunedReader:
    network = copy.deepcopy(small("bert-mini").model).requires_grad_(True)
    assert isinstance(network, EncoderOnly)
    return FineTunedReader(network, n_classes, head)


def discriminator() -> FineTunedReader:
    network = copy.deepcopy(small("bert-mini", family="discriminator").model).requires_grad_(True)
    assert isinstance(network, Discriminator)
    return FineTunedReader(network, 2)


def writer() -> FineTunedWriter:
    network = copy.deepcopy(small("gpt-mini").model).requires_grad_(True)
    assert isinstance(network, DecoderOnly)
    return FineTunedWriter(network, 2)


def test_texts_stand_between_their_marks_and_lose_their_ends() -> None:
    cat, dog = TOKENIZER.encode(CAT), TOKENIZER.encode(DOG)
    one = text_example(TOKENIZER, CAT, 1, 99)
    assert one == Example((CLS_ID, *cat, SEP_ID), (0,) * (len(cat) + 2), 1)
    two = text_example(TOKENIZER, CAT, 0, 99, DOG)
    assert two.ids == (CLS_ID, *cat, SEP_ID, *dog, SEP_ID)
    assert two.segment_ids == (0,) * (len(cat) + 2) + (1,) * (len(dog) + 1)
    assert text_example(TOKENIZER, CAT, 0, 9, DOG).ids == (CLS_ID, *cat[:3], SEP_ID, *dog[:3], SEP_ID)
    assert written_example(TOKENIZER, CAT, 1, 6).ids == (SOS_ID, *cat[:4], EOS_ID)


def test_a_word_is_asked_about_at_its_first_piece() -> None:
    words = ("Tom", "überquerte", "cats")
    pieces = [TOKENIZER.encode(word) for word in words]
    assert len(pieces[1]) > 1
    one = tags_example(TOKENIZER, words, (3, 1, 2), 99)
    assert one.ids == (CLS_ID, *chain(*pieces), SEP_ID)
    labels = [[tag, *[NO_LABEL] * (len(some) - 1)] for tag, some in zip((3, 1, 2), pieces, strict=True)]
    assert one.label == (NO_LABEL, *chain(*labels), NO_LABEL)
    assert len(tags_example(TOKENIZER, words * 9, (3, 1, 2) * 9, 12).label) == 12  # type: ignore[arg-type]


@pytest.mark.parametrize(("answer", "start"), [("dog", 2), ("the cat", 11), ("A", 0), ("Katze", 29)])
def test_a_span_covers_its_answer_and_nothing_more(answer: str, start: int) -> None:
    context = "A dog sees the cat and näht ä Katze."
    start = context.index(answer)
    one = span_example(TOKENIZER, "Who sees it?", context, answer, start, 99)
    assert one is not None
    first, last = one.label  # type: ignore[misc]
    assert TOKENIZER.decode(one.ids[first : last + 1]).strip() == answer
    assert one.segment_ids[first] == 1
    assert span_example(TOKENIZER, "Who sees it?", context, answer, start, 20) is None


def test_the_loss_of_each_task_is_the_mean_of_all_that_is_asked() -> None:
    texts = [text_example(TOKENIZER, CAT, 1, 99), text_example(TOKENIZER, DOG, 0, 99)]
    model, batch = reader(), collate(texts)
    scores = model(batch["src_ids"], batch["segment_ids"])
    by_hand = -(scores[0].log_softmax(0)[1] + scores[1].log_softmax(0)[0]) / 2
    assert loss_of("sentence")(model, batch).item() == pytest.approx(by_hand.item(), rel=1e-5)

    tagged = [
        tags_example(TOKENIZER, ("Tom", "has", "dogs"), (2, 0, 1), 99),
        tags_example(TOKENIZER, ("cat",), (1,), 9),
    ]
    model, batch = reader(3, "tokens"), collate(tagged)
    rows = model(batch["src_ids"], batch["segment_ids"]).log_softmax(-1)
    asked = [(n, at) for n, one in enumerate(tagged) for at, tag in enumerate(one.label) if tag != NO_LABEL]  # type: ignore[arg-type]
    assert len(asked) == 4
    by_hand = -sum(rows[n, at, tagged[n].label[at]] for n, at in asked) / 4  # type: ignore[index]
    assert loss_of("tags")(model, batch).item() == pytest.approx(by_hand.item(), rel=1e-5)

    spans = [Example((*one.ids,), one.segment_ids, (2, 4)) for one in texts]
    model, batch = reader(2, "tokens"), collate(spans)
    scores = model(batch["src_ids"], batch["segment_ids"])
    by_hand = torch.zeros(())
    for n, one in enumerate(spans):
        own = scores[n, : len(one.ids)].log_softmax(0)  # nothing begins in the padding
        by_hand = by_hand - (own[2, 0] + own[4, 1]) / 4
    assert loss_of("span")(model, batch).item() == pytest.approx(by_hand.item(), rel=1e-5)


def test_a_gpt_is_asked_at_its_last_token_and_goes_on_guessing_tokens() -> None:
    texts = [written_example(TOKENIZER, CAT, 1, 99), written_example(TOKENIZER, DOG, 0, 99)]
    model, batch = writer().eval(), collate(texts)
    alone = [model(torch.tensor([one.ids])) for one in texts]
    assert torch.allclose(model(batch["src_ids"]), torch.cat(alone), atol=1e-4)  # the padding changes nothing
    plain = loss_of("sentence")(model, batch).item()
    guesses = []
    for one in texts:
        rows = model.network(torch.tensor([one.ids]))[0].log_softmax(-1)
        guesses += [-rows[at, token].item() for at, token in enumerate(one.ids[1:])]
    both = loss_of("sentence", auxiliary=0.3)(model, batch).item()
    assert both == pytest.approx(plain + 0.3 * sum(guesses) / len(guesses), rel=1e-4)


@pytest.mark.parametrize("make", [reader, discriminator, writer])
def test_it_learns_two_sentences_and_tells_what_moved(make) -> None:  # type: ignore[no-untyped-def]
    model = make()
    example = written_example if make is writer else text_example
    texts = [example(TOKENIZER, CAT, 1, 99), example(TOKENIZER, DOG, 0, 99)]
    before = {name: weights_of(part) for name, part in parts_of(model).items()}
    losses = [step.loss for step in fine_tune(model, texts, recipe(12, 3e-3), loss_of("sentence"), 2)]
    assert losses[-1] < losses[0] / 2
    assert accuracy(model, "sentence", texts) == Accuracy(1.0, 2)
    far = moved(before, model)
    assert list(far)[:3] == ["embedding", "layer 1", "layer 2"]
    assert all(0 < share < 1 for share in far.values())


def test_other_tokens_are_hidden_in_each_batch_and_never_a_mark() -> None:
    batch = {"src_ids": torch.tensor([[CLS_ID, *range(40, 140), SEP_ID, PAD_ID]] * 20), "labels": torch.zeros(20)}
    first, second = some_hidden([batch, batch], 0.3, 1)
    for one in (first, second):
        hidden = one["src_ids"] == MASK_ID
        assert hidden[:, 1:101].float().mean().item() == pytest.approx(0.3, abs=0.04)
        assert torch.equal(one["src_ids"][~hidden], batch["src_ids"][~hidden])
        assert not hidden[:, [0, 101, 102]].any()
        assert one["labels"] is batch["labels"]
    assert not torch.equal(first["src_ids"], second["src_ids"])
    assert torch.equal(next(some_hidden([batch], 0.0, 1))["src_ids"], batch["src_ids"])


def test_the_rate_rises_shortly_and_falls_for_long() -> None:
    one = recipe(50, 3e-4)
    assert (one.peak_learning_rate, one.warmup_steps, one.decay_fraction, one.label_smoothing) == (3e-4, 5, 0.9, 0.0)
    assert recipe(3, 3e-4).warmup_steps == 1


def test_the_head_alone_moves_nothing_else() -> None:
    model = reader()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    d_model = model.head.in_features
    assert train_only(model, ["network.next_sentence.classifier"]) == 2 * d_model + 2
    texts = [text_example(TOKENIZER, CAT, 1, 99), text_example(TOKENIZER, DOG, 0, 99)]
    for _ in fine_tune(model, texts, recipe(3, 1e-2), loss_of("sentence"), 2):
        pass
    different = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert different == {f"network.next_sentence.classifier.{name}" for name in ("weight", "bias")}


def test_a_span_is_right_if_both_ends_are_and_padding_is_never_one() -> None:
    class Chosen(torch.nn.Module):
        def forward(self, src_ids: torch.Tensor, segment_ids: torch.Tensor) -> torch.Tensor:
            scores = torch.zeros(*src_ids.shape, 2)
            scores[:, 2, 0] = scores[:, 3, 1] = 1.0
            return scores + 9.0 * (src_ids == PAD_ID)[..., None]

    right, wrong = ((3, 7, 8, 9, 4), (0,) * 5, (2, 3)), ((3, 7, 8, 4), (0,) * 4, (1, 3))
    assert accuracy(Chosen(), "span", [Example(*right), Example(*wrong)]).right == 0.5


def test_the_standard_error_of_a_share() -> None:
    assert Accuracy(0.9, 100).standard_error == pytest.approx(math.sqrt(0.9 * 0.1 / 100))


def test_there_is_no_other_head() -> None:
    with pytest.raises(ValueError, match=r"^there is no head='words'; choose one of text, tokens$"):
        reader(2, "words")
