"""The header of a lesson names the models that its first picture shows, and counts their parameters."""

from collections import UserDict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from torch import nn

from model.families import readers
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import LoadedModel
from tests.course import LESSONS
from tests.pages.kit import ROUTER, go_to, opened
from ui import engine
from ui.course.lesson import Lesson

TEXT = "I ate an apple"


def is_like(one: nn.Module, other: nn.Module) -> bool:
    return [p.shape for p in one.parameters()] == [p.shape for p in other.parameters()]


def badge(app: AppTest) -> str:
    return next(one.proto.body for one in app.get("html") if "tw-badge" in one.proto.body)


def named(lesson: Lesson) -> list[LoadedModel[Any, Any]]:
    """The models that the header names."""
    place = lesson.on_map
    if place.pictured:
        return list(place.pictured[1]())
    return [engine.model(name) for name in place.readers or ("translator",)]


class Watched(UserDict[str, Any]):
    """The tensors of a trace, and whether any was read."""

    read = False

    def __getitem__(self, name: str) -> Any:
        self.read = True
        return super().__getitem__(name)


@pytest.mark.parametrize("lesson", [one for one in LESSONS if one.on_map.scene], ids=lambda one: one.slug)
def test_the_models_that_the_header_names_are_those_that_the_picture_shows(lesson: Lesson) -> None:
    """A model is in the picture if it runs for it, or its numbers are read from the trace."""
    engine.forget()
    ran: list[nn.Module] = []
    through = lesson.on_map.model() if lesson.on_map.model else engine.model()
    trace, shown = engine.trace(TEXT, name=through.name), named(lesson)
    tensors = Watched(trace.tensors)
    assert lesson.on_map.scene
    with nn.modules.module.register_module_forward_pre_hook(lambda module, inputs: ran.append(module)):
        lesson.on_map.scene(replace(trace, tensors=tensors))

    def is_there(one: LoadedModel[Any, Any]) -> bool:
        shares_weights = {id(w) for module in ran for w in module.parameters()} & {*map(id, one.model.parameters())}
        return bool({*map(id, ran)} & {*map(id, one.model.modules())} or shares_weights) or (
            one is through and tensors.read
        )

    def may_be_a_copy(one: LoadedModel[Any, Any]) -> bool:
        """The translator with some part exchanged, or the tiny model, which is built anew for all that asks for it."""
        embedding = next(one.model.children())
        return (one is through or one.name == "toy") and any(is_like(module, embedding) for module in ran)

    if ran or tensors.read:  # else it shows no model, only the pieces
        assert [one.name for one in shown if not is_there(one) and not may_be_a_copy(one)] == []
        assert through in shown or not is_there(through)


def test_every_lesson_names_a_model_and_none_is_counted_as_nothing() -> None:
    for lesson in LESSONS:
        assert all(one.n_parameters > 1000 for one in named(lesson)), lesson.slug
        assert lesson.on_map.readers != () or lesson.on_map.pictured, lesson.slug


def test_sizes_that_differ_are_a_range() -> None:
    assert " · six small translators: 1.9–2.0\u00a0M parameters each" in badge(opened("positions-six-ways"))


def test_a_broken_model_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*folder: Path) -> None:
        raise CheckpointError("The model file is missing.")

    monkeypatch.setattr(readers, "load_readers", broken)
    assert "parameters" not in badge(go_to(AppTest.from_file(ROUTER, default_timeout=60), "before-attention").run())


def test_above_a_lesson_that_reads_no_sentence_nothing_asks_for_one() -> None:
    app = opened("without-attention", sentence="")
    assert [box.label for box in app.text_input][1].startswith("Six letters")
    assert not [button.label for button in app.button if button.key.startswith(("example", "surprise"))]
    assert not app.info
    assert all(lesson.on_map.readers == () for lesson in LESSONS if lesson.on_map.instead)
