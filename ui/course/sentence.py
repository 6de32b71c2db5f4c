"""The sentence bar: the same on every page, one sentence everywhere, kept in the address."""

import contextlib
import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from model.files.checkpoint import CheckpointError
from model.files.loaded_model import TRANSLATOR, LoadedModel, UnknownModelError
from model.trace import EmptySentenceError, Trace, unread
from ui import engine
from ui.course.lesson import OnMap
from ui.course.notices import MAX_CHARS, cut_notice, unlike_english, unlike_training
from ui.course.page_frame import badge
from ui.text import in_markdown

KEY = "sentence"  # of the text box, and of the parameter in the address
DEFAULT = "I ate an apple"
MODEL = "model"  # the parameter in the address that names another model


def _type(sentence: str) -> None:
    st.session_state[KEY] = sentence


def _surprise(surprises: Sequence[str]) -> None:
    _type(random.choice([s for s in surprises if s != st.session_state.get(KEY)]))


def _asked_model() -> tuple[LoadedModel, str]:
    """The model that the address names, or the translator; and why it is not the one named, in one sentence, or ''."""
    try:
        asked = engine.model(st.query_params.get(MODEL, TRANSLATOR))
    except (UnknownModelError, CheckpointError) as error:
        return engine.model(), f"{in_markdown(str(error))} The translator is shown instead."
    if not (asked.anatomy.reads_source and asked.anatomy.writes_target):
        return (
            engine.model(),
            f"The model {in_markdown(asked.name)} translates nothing. The translator is shown instead.",
        )
    return asked, ""


def current_model() -> LoadedModel:
    """The model that the address names, if it translates, or the translator."""
    return _asked_model()[0]


def _those_there(readers: Sequence[str]) -> list[LoadedModel]:
    """The models of these names without those that are missing or broken: of such a one the lesson itself tells."""
    there = []
    for name in readers:
        with contextlib.suppress(UnknownModelError, CheckpointError):
            there.append(engine.model(name))
    return there


def _pictured(place: OnMap, readers: Sequence[LoadedModel]) -> Mapping[str, Sequence[LoadedModel[Any, Any]]]:
    """The models of a page's first picture, by what they are called; without those that are missing or broken."""
    if place.pictured is None:
        return {one.about.called.removeprefix("the ") or one.name: [one] for one in readers}
    called, load = place.pictured
    with contextlib.suppress(UnknownModelError, CheckpointError):
        return {called: load()}
    return {}


def sentence_bar(place: OnMap) -> None:
    """The box, the examples and the badge: drawn before every page, so that the sentence stays in the address.

    Args: place: says which models read the sentence (the examples are for the first), and which the badge is to name
    """
    models = _those_there(place.readers or ()) or [current_model()]
    about = models[0].about
    box, device = st.columns([4, 2], vertical_alignment="bottom")
    # One that is not read is hidden, not left out, and has its place among the elements: so it stays in the address.
    with box, st.container(key="unread" if place.instead else "read"):
        st.text_input(f"{about.source} sentence", DEFAULT, key=KEY, bind="query-params", live="300ms")
    with device, st.container(key="badge"):
        badge(models[0].device, _pictured(place, models))
    if place.instead:
        with box:
            place.instead()
        return
    with st.container(horizontal=True, key="examples", gap="small"):
        for n, example in enumerate(about.examples):
            types = partial(_type, example.sentence)
            st.button(example.label, key=f"example{n}", help=example.why, on_click=types, type="tertiary")
        if about.surprises:
            st.button("Surprise me", key="surprise", on_click=_surprise, args=(about.surprises,), type="tertiary")


def sentence_trace(through: LoadedModel | None = None, place: OnMap | None = None) -> Trace:
    """The trace of what is in the box. Stops the page, saying why, if there is nothing to trace.

    Args: through: the model, if it is not the visitor's: then nothing is said about what the visitor's model learned
          place: says whether others read it: then it is said what they make of it; if nobody does, it may be empty
    """
    place = place or OnMap()
    readers, typed = place.readers, (st.session_state.get(KEY) or "").strip()
    matters = readers is None or bool(readers)
    loaded, is_sent = through or current_model(), bool(through) or readers is None or TRANSLATOR in readers
    send = partial(engine.trace, name=loaded.name) if is_sent else partial(unread, loaded)  # the lesson sends it itself
    try:
        trace = send(typed[:MAX_CHARS])
    except EmptySentenceError:
        if matters:
            works = "translate" if readers is None else "read"
            more = "the model translates it, and you" if readers is None else "you"
            then = f"Or take one of the examples: {more} watch it work."
            st.info(f"There is nothing to {works} yet: type a sentence. {then}")
            st.stop()
        trace = send(DEFAULT)
    # Drawn even when empty: a notice that comes or goes must not move what stands below, or it would be built anew.
    with st.container(key="notices"):
        if place.instead:
            return trace
        unlike = unlike_training(trace)
        if readers is not None:
            unlike = unlike_english(trace, [one.about for one in _those_there(readers)])
        for notice in (_asked_model()[1], cut_notice(typed, trace), unlike):
            if notice:
                st.info(notice)
        if through or readers is not None:
            return trace
        if trace.text.rstrip(".").lower() == DEFAULT.lower():
            st.caption("The model met this very sentence in training. Type one of your own to see what it can do.")
        for example in trace.model.about.examples:
            if example.sentence == trace.text and not example.says:  # it is there because the model goes wrong
                st.caption(in_markdown(example.why))
    return trace
