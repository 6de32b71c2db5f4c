"""A query and a key of the sentence, turned to any two positions, as rotary positions turn them."""

import numpy as np
import streamlit as st
import torch
from torch import Tensor

from figures.chart import BLUE, GREY, ORANGE
from model.interventions import Head
from model.parts.positions import Rotary
from model.trace import Trace
from ui.controls.control import Number
from ui.controls.head_control import HeadControl
from ui.controls.piece_control import choose_part
from ui.text import magnitude, number
from ui.views.attention_kinds import READABLE
from ui.views.charts.curves import Axis, Line, curves
from ui.views.charts.tables import numbers_of_figure, table

HEAD = HeadControl(("encoder",))
FURTHEST = 60  # the last position of the sliders
SHIFTS = (0, 1, 10, 100)  # by how much query and key move together
QUERY_AT = Number("Position of the query", "query_at", 1, FURTHEST, 2)
KEY_AT = Number("Position of the key", "key_at", 1, FURTHEST, 5)


def head_of(trace: Trace) -> Head:
    return HEAD.value(trace.model)


def turned(trace: Trace, name: str, piece: int, first: int, count: int = 1) -> Tensor:
    """(count,d_k): the query "q" or key "k" of a piece (from 0), turned to positions first, first + 1, … (from 1)."""
    vector = torch.tensor(trace.tensors[f"{trace.path(head_of(trace))}.{name}"][head_of(trace).head, piece])
    return Rotary().rotate(name, vector.expand(1, 1, count, -1), first - 1)[0, 0]


def product(trace: Trace, pieces: tuple[int, int], places: tuple[int, int]) -> float:
    """Query · key of two pieces (from 0), turned to two positions (from 1), in float32."""
    return float(turned(trace, "q", pieces[0], places[0])[0] @ turned(trace, "k", pieces[1], places[1])[0])


def turn(trace: Trace) -> None:
    """A query and a key of the sentence, turned to any two positions."""
    st.subheader("Turn a query and a key", anchor=False)
    texts = [token.text for token in trace.src[:READABLE]]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        query = choose_part("Query of piece", texts, 0, trace.text, "query_of")
        key = choose_part("Key of piece", texts, 1, trace.text, "key_of")
    with st.container(horizontal=True, gap="medium"):
        places = QUERY_AT.draw(), KEY_AT.draw()
    left, right = st.columns([1, 1.3], gap="large")
    with left:
        arrows(trace, (query, key), places)
    with right:
        by_distance(trace, (query, key), places)


def arrows(trace: Trace, pieces: tuple[int, int], places: tuple[int, int]) -> None:
    """One pair of dimensions of the query and of the key, turned."""
    half = trace.model.config.d_k // 2
    pair = Number("Pair of dimensions", "rotary_pair", 1, half, 1).draw()
    before, after = (
        np.stack(
            [
                turned(trace, name, piece, at)[0, 2 * pair - 2 : 2 * pair].numpy()
                for name, piece, at in zip("qk", pieces, ends, strict=True)
            ]
        )
        for ends in ((1, 1), places)
    )
    before, after = (many / np.linalg.norm(many, axis=1, keepdims=True) for many in (before, after))
    step = float(np.degrees(10000 ** (-(pair - 1) / half)))
    query, key = np.degrees(np.arctan2(after[:, 1], after[:, 0]))
    between = float(abs((query - key + 180) % 360 - 180))
    ends = 1.15 * float(np.abs(np.concatenate([before, after])).max())
    curves(
        [
            Line(f"{name}{manner}", [(0, 0), (arrow[0], arrow[1])], colour, dashed=dashed, dotted=True)
            for arrows, manner, dashed in ((before, ", not turned", True), (after, "", False))
            for arrow, (name, colour) in zip(arrows, (("query", BLUE), ("key", ORANGE)), strict=True)
        ],
        Axis("first dimension of the pair", -ends, ends),
        Axis("second", -ends, ends),
        alt=f"Two arrows, the query and the key in pair {pair} of their dimensions, as they are and turned. Between "
        f"the turned ones lie {number(between, 0)} degrees.",
        square=True,
    )
    st.caption(
        "Position 1 is not turned. "
        f"Pair {pair} of {half} turns by {number(step, 1)}° a place: the query by {number((places[0] - 1) * step, 0)}°,"
        f" the key by {number((places[1] - 1) * step, 0)}°. Between the turned arrows lie **{number(between, 0)}°**. "
        "Move both sliders by the same: the arrows turn, the angle between them stays. All are drawn equally long."
    )
    numbers_of_figure(
        ("arrow", "first dimension", "second dimension"),
        [
            (f"{name}{manner}", *(number(float(value), 3) for value in arrow))
            for many, manner in ((before, ", not turned"), (after, ""))
            for name, arrow in zip(("query", "key"), many, strict=True)
        ],
    )


def by_distance(trace: Trace, pair: tuple[int, int], places: tuple[int, int]) -> None:
    """The product by the distance, and at several places with the same distance."""
    distance = places[1] - places[0]
    query, key = pair
    distances = np.arange(1 - FURTHEST, FURTHEST)
    products = (turned(trace, "k", key, 1, len(distances)) @ turned(trace, "q", query, FURTHEST)[0]).numpy()
    unturned = product(trace, pair, (1, 1))
    at = float(products[distance + FURTHEST - 1])
    low, high = float(min(products.min(), unturned)), float(max(products.max(), unturned))
    room = (high - low) / 20 or 1
    curves(
        [
            Line("turned", list(zip(distances, products, strict=True)), BLUE),
            Line("not turned", [(distances[0], unturned), (distances[-1], unturned)], GREY, dashed=True),
            Line("your distance", [(distance, at)], ORANGE, dotted=True),
        ],
        Axis("position of the key minus that of the query", distances[0], distances[-1]),
        Axis("query · key", low - room, high + room),
        alt=f"The product of the turned query and key by their distance, from {number(1 - FURTHEST, 0)} to "
        f"{FURTHEST - 1}. At {number(distance, 0)} it is {number(at, 2)}; not turned {number(unturned, 2)}.",
    )
    moved = [product(trace, pair, (places[0] + shift, places[1] + shift)) for shift in SHIFTS]
    table(
        ("query at", "key at", "distance", "query · key"),
        [
            (str(places[0] + shift), str(places[1] + shift), number(distance, 0), number(value, 4))
            for shift, value in zip(SHIFTS, moved, strict=True)
        ],
    )
    st.caption(
        f"Both move together: the distance stays {number(distance, 0)}, and so does the product. The four differ by at "
        f"most {magnitude(max(moved) - min(moved))}: that is rounding, since numbers are kept to about seven digits. "
        "Move one slider alone, and the product changes."
    )
    numbers_of_figure(
        ("distance", "query · key"),
        [(number(float(d), 0), number(float(p), 3)) for d, p in zip(distances[9::10], products[9::10], strict=True)],
    )
