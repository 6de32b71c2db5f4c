"""Every rule of Check, on random cells of a model that needs it: its formula and its lines come to the number."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from experiments.family.distillation import compared
from experiments.family.low_rank import with_steps
from experiments.family.pairs import read_pair
from experiments.training.losses import with_losses
from explain import DIGITS, RULES, Numbers, arrays, worked, worked_group, worked_weight
from figures.grouping import Group
from model.anatomy.describe import anatomy_of
from model.build import build_model
from model.build_beyond_text import build_sound, build_swin, build_towers, build_vision
from model.families.copying import load_copier, trace_copier
from model.families.pictures import PictureConfig, SwinConfig
from model.families.readers import load_readers, trace_readers
from model.families.sounds import SoundConfig
from model.families.two_towers import TowersConfig, parts_of_texts
from model.files.load_pictures import load_vision, samples, trace_picture
from model.files.loaded_model import load_model
from model.tap import Recorder
from model.trace import trace
from tests.family import small
from tests.oracle.language.formula import agree
from tests.small import SOURCE, TARGET, random_ids
from tests.variants import VARIANTS
from training.live.adapting import Adapting
from training.live.toy import Choice, answered, loaded

HALF = 0.5 * 10**-DIGITS + 1e-9
# Made by `Numbers` from the tensors of any trace; tried in test_steps_are_claimed.py.
OF_NUMBERS = {"average", "softmax_of_logits"}
TOY, BERT, LORA, READERS = "a toy model and its loss", "an encoder alone", "a low-rank layer", "three readers"
COPIER, ELECTRA = "a state-space model", "a discriminator"
STUDENT, PICTURE, WINDOWS = "a student beside its teacher", "a picture in patches", "a picture in windows"
SOUND, COLOUR, WORDS = "a sound in patches", "a picture in colour", "words of many parts"
SMALL = {"d_model": 10, "n_heads": 2, "n_layers": 2, "d_ff": 11}


@cache
def numbers_of(variant: str) -> Numbers:
    """The numbers of one sentence, and the parameters, of a small model."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(23)
        model, recorder = VARIANTS[variant](), Recorder()
        model(random_ids(1, SOURCE), random_ids(1, TARGET), recorder)
    tensors = {name: value[0].numpy() if value.dim() > 2 else value.numpy() for name, value in recorder.tensors.items()}
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    return Numbers(tensors, weights, anatomy_of(model))


@cache
def numbers_of_readers() -> Numbers:
    """Of the two that are recurrent: all that is shown of the third is the translator's, too."""
    readers = load_readers()
    trace = trace_readers(readers, "a text", (5, 17, 23, 5, 40, 41, 2))
    own = {name: made for name, made in readers.anatomy.tensors.items() if name.startswith(("rnn.", "lstm."))}
    return Numbers(trace.tensors, readers.weights, replace(readers.anatomy, tensors=own))


@cache
def numbers_of_toy() -> Numbers:
    """A text of a toy model's task, and its losses, plain and smoothed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(23)
        weights = {name: value.numpy() for name, value in build_model(Choice().config).state_dict().items()}
    trace = with_losses(answered(loaded(Choice(), weights), "sort", "cab"), 0.1)
    return Numbers(trace.tensors, trace.model.weights, trace.model.anatomy)


@cache
def numbers_of_bert() -> Numbers:
    loaded = small("bert-mini")
    first, second = (tuple(loaded.tokenizer.encode(text)) for text in ("The cat sat.", "It ran."))
    read = read_pair(loaded, first, second)
    return Numbers(read.tensors, loaded.weights, read.model.anatomy)


@cache
def numbers_of_electra() -> Numbers:
    read = trace(small("bert-mini", family="discriminator"), "The cat sat.")
    return Numbers(read.tensors, read.model.weights, read.model.anatomy)


@cache
def numbers_of_student() -> Numbers:
    """A blank as BERT fills it, and as it is filled by one that gives each entry another's logit, softened."""
    loaded = small("bert-mini")
    read = trace(loaded, "The cat sat.")
    logits = read.tensors["logits"][2]
    compare = compared(read, loaded, logits, logits[::-1], 2.0)
    return Numbers(compare.tensors, loaded.weights, compare.model.anatomy)


@cache
def numbers_of_lora() -> Numbers:
    """One low-rank layer, with a B that is not 0."""
    path = "decoder.layers.1.cross_attn.w_v"
    adapted = Adapting("plain-1", "formal: Sie", rank=4).network(load_model("plain-1"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(23)
        torch.nn.init.normal_(adapted.model.get_parameter(f"{path}.up.weight"))
    read = with_steps(trace(adapted, "The cat sat."), path)
    return Numbers(read.tensors, read.model.weights, read.model.anatomy)


@cache
def numbers_of_copier() -> Numbers:
    read = trace_copier(load_copier("selective"), (0, 3, 0, 1, 8, 0, 0, 9, 9))
    return Numbers(read.tensors, read.model.weights, read.model.anatomy)


@cache
def numbers_of_picture() -> Numbers:
    read = trace_picture(load_vision(), samples()[0][9])
    return Numbers(read.tensors, read.model.weights, read.model.anatomy)


def numbers_of_random(
    build: Callable[[Any], nn.Module], config: object, *size: int, given: Tensor | None = None
) -> Numbers:
    """Of random input, or of what is given, with weights and biases that are not almost 0."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(23)
        model, recorder = build(config), Recorder()
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        model(torch.rand(1, *size) if given is None else given, tap=recorder)
    tensors = {name: value[0].numpy() if value.dim() > 2 else value.numpy() for name, value in recorder.tensors.items()}
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    return Numbers(tensors, weights, anatomy_of(model))


@cache
def numbers_of_windows() -> Numbers:
    return numbers_of_random(build_swin, SwinConfig(size=12, window=3, shift=1, **SMALL), 12, 12)


@cache
def numbers_of_sound() -> Numbers:
    return numbers_of_random(build_sound, SoundConfig(pitches=6, frames=12, high=3, wide=4, **SMALL), 6, 12)


@cache
def numbers_of_colour() -> Numbers:
    sizes = PictureConfig(8, 4, n_classes=7, channels=3, **SMALL)
    return numbers_of_random(build_vision, sizes, 8, 8, 3)


@cache
def numbers_of_words() -> Numbers:
    config = TowersConfig(n_parts=50, **{**SMALL, "n_layers": 1})
    given = parts_of_texts(["a red balloon"], 50)
    return numbers_of_random(lambda config: build_towers(config).texts, config, given=given)


OTHERS = {
    TOY: numbers_of_toy,
    BERT: numbers_of_bert,
    LORA: numbers_of_lora,
    READERS: numbers_of_readers,
    COPIER: numbers_of_copier,
    ELECTRA: numbers_of_electra,
    STUDENT: numbers_of_student,
    PICTURE: numbers_of_picture,
    WINDOWS: numbers_of_windows,
    SOUND: numbers_of_sound,
    COLOUR: numbers_of_colour,
    WORDS: numbers_of_words,
}


def operations(numbers: Numbers) -> set[str]:
    return {made.operation for name, made in numbers.anatomy.tensors.items() if name in numbers.tensors}


def test_every_rule_is_needed_by_a_model_that_tests_try() -> None:
    every = [*map(numbers_of, VARIANTS), *(make() for make in OTHERS.values())]
    tried = set().union(*map(operations, every))
    assert RULES.keys() - tried - OF_NUMBERS == set(), "add a model that needs it to tests/variants.py"


def some_cells(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The corners and a few cells between."""
    random = np.random.default_rng(11)
    yield from (tuple(0 for _ in shape), tuple(n - 1 for n in shape))
    for _ in range(12):
        yield tuple(int(random.integers(n)) for n in shape)


@pytest.mark.parametrize("variant", [*VARIANTS, *OTHERS])
def test_every_cell_is_worked_out(variant: str) -> None:
    numbers = OTHERS[variant]() if variant in OTHERS else numbers_of(variant)
    half = 4 * HALF if variant == READERS else HALF  # up to three numbers are rounded before they are multiplied
    for name, made in numbers.anatomy.tensors.items():
        if made.operation.endswith("_mask") or made.operation == "given":
            continue
        for index in some_cells(numbers[name].shape):
            step = worked(numbers, name, index)
            value = numbers[name][index]
            assert step.value == pytest.approx(value, rel=1e-6), (name, index)
            if np.isfinite(value):
                assert agree(step.formula) == pytest.approx(value, abs=half), (name, index)
            *lines, last = step.snippet.splitlines()
            scope: dict[str, Any] = {"np": np, "t": arrays(numbers, [step])}
            exec("\n".join(lines), scope)
            assert eval(last, scope) == pytest.approx(value, rel=1e-4, abs=1e-4), (name, index)


@pytest.mark.parametrize(
    ("variant", "steps"),
    [
        ("as in the paper", ["products", "scaled", "weights"]),
        ("ALiBi, RMS norm after, GELU with tanh", ["products", "scaled", "biased", "weights"]),
    ],
)
def test_a_weight_is_told_with_what_a_position_scheme_adds(variant: str, steps: list[str]) -> None:
    numbers, path, index = numbers_of(variant), "encoder.layers.1.self_attn", (2, 5, 3)
    told = [step.value for step in worked_weight(numbers, path, index)]
    assert told == [numbers[f"{path}.{step}"][index] for step in steps]


@pytest.mark.parametrize(
    ("row", "column", "expected"), [((0, 1), (1, 2), 0.35), ((0,), (1, 2), 0.5), ((2,), (2,), 1.0), ((0, 1), (0,), 0.3)]
)
def test_a_weight_between_words_by_hand(row: tuple[int, ...], column: tuple[int, ...], expected: float) -> None:
    weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0.0, 0.0, 1.0, 0.0]])
    step = worked_group(weights, Group("row", row), Group("column", column))
    assert step.value == agree(step.formula) == pytest.approx(expected)


def test_the_rows_of_a_picture_are_named_as_on_the_page() -> None:
    """Patches are counted from 1, and [class] stands before them: the row of a patch has its number."""
    rows = [worked(numbers_of_picture(), "encoder.embedding.with_class", (row, 3)).says for row in (0, 1, 16)]
    assert ["[class]" in says for says in rows] == [True, False, False]
    assert [f"patch {row}," in says for row, says in zip((0, 1, 16), rows, strict=True)] == [False, True, True]


def test_the_rows_of_a_sound_are_named() -> None:
    """Two learned rows, then the patches."""
    rows = [worked(numbers_of_sound(), "encoder.embedding.with_class", (row, 3)).says for row in (0, 1, 2, 7)]
    named = ("the first row before", "the second row before", "that of patch 1,", "that of patch 6,")
    assert all(name in says for name, says in zip(named, rows, strict=True))
    told = worked(numbers_of_sound(), "patches", (4, 7)).says  # second row of patches, second from the left
    assert "3 patches stand side by side, each of 3 pitches × 4 moments" in told
    assert "Cell 8 of patch 5 is pitch 5 at moment 8." in told


def test_a_colour_is_named() -> None:
    told = [worked(numbers_of_colour(), "patches", (3, 16 * colour + 6)).says for colour in range(3)]
    assert all("Pixel 7 of patch 4 lies in row 6 of the picture, in column 7." in says for says in told)
    assert [says.rpartition(". ")[2] for says in told] == [f"Its {c}, from 0 to 1." for c in ("red", "green", "blue")]


def test_a_tensor_without_a_rule_is_named() -> None:
    with pytest.raises(KeyError, match="no rule works out 'nonsense'"):
        worked(numbers_of("as in the paper"), "nonsense", (0,))
