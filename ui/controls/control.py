"""A control is one object: it draws itself, reads its value, lives in the address.

`draw()` puts it on the page and returns its value. `value()` returns the same where it is not on the page, as in
presenter mode, which shows one part of a lesson at a time. What the address says is validated and capped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from ui.controls.address import said
from ui.controls.segmented import one_of

Option = TypeVar("Option", str, int)


@dataclass(frozen=True)
class Choice(Generic[Option]):
    """One of a few options, by default the first. Options are what people read, because they stand in the address.

    goes_along: what is chosen here is also chosen on other pages with this key
    """

    label: str
    key: str
    options: Sequence[Option]
    default: Option | None = None
    goes_along: bool = False
    help: str | None = None
    wrap: bool | None = True

    @property
    def otherwise(self) -> Option:
        return self.options[0] if self.default is None else self.default

    def draw(self) -> Option:
        return one_of(
            self.label, self.options, key=self.key, default=self.otherwise, goes_along=self.goes_along,
            help=self.help, wrap=self.wrap,
        )  # fmt: skip

    def value(self) -> Option:
        known = {str(option): option for option in self.options}
        return known.get(str(st.session_state.get(self.key) or st.query_params.get(self.key, "")), self.otherwise)


@dataclass(frozen=True)
class Stops(Choice[Option]):
    """Options in their order along a slider, by default the first."""

    def draw(self) -> Option:
        chosen = st.select_slider(
            self.label, self.options, self.otherwise, key=self.key, bind="query-params", help=self.help
        )
        return self.otherwise if isinstance(chosen, tuple) else chosen  # an address may name two of them


@dataclass(frozen=True)
class Switch:
    """On or off."""

    label: str
    key: str
    help: str | None = None

    def draw(self) -> bool:
        return st.toggle(self.label, key=self.key, bind="query-params", help=self.help)

    def value(self) -> bool:
        return bool(st.session_state.get(self.key, st.query_params.get(self.key) == "true"))


@dataclass(frozen=True)
class Number:
    """A number on a slider, from low to high. An address that asks for one that cannot be gets a message."""

    label: str
    key: str
    low: float
    high: float
    default: float
    step: float | None = None
    help: str | None = None

    def draw(self) -> Any:
        def slider() -> float:
            return st.slider(
                self.label, self.low, self.high, self.default, self.step, key=self.key, bind="query-params",
                help=self.help,
            )  # fmt: skip

        return said(self.key, slider)

    def value(self) -> Any:
        try:
            asked = type(self.default)(st.session_state.get(self.key, st.query_params.get(self.key, self.default)))
        except (TypeError, ValueError):
            return self.default
        return asked if self.low <= asked <= self.high else self.default
