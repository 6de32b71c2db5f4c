"""Numbers side by side, as columns: plain HTML, so that it is there at once, where a chart is drawn twice over."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from ui.text import in_html, number, piece

LABEL_LENGTH = 14  # characters of a label that are shown
_FLAT = 44  # letters that may stand side by side below the columns: what a phone has room for
_MANY = 20  # slanted labels that a phone has room for; of more it shows every other


@dataclass(frozen=True)
class Series:
    """A number (N) for each column: a bar from 0, or, with deviations (N), a dot in the middle of a line."""

    name: str
    values: NDArray[np.floating]
    deviations: NDArray[np.floating] | None = None

    @property
    def lows(self) -> NDArray[np.floating]:
        return np.minimum(self.values, 0) if self.deviations is None else self.values - self.deviations

    @property
    def highs(self) -> NDArray[np.floating]:
        return np.maximum(self.values, 0) if self.deviations is None else self.values + self.deviations

    def says(self, n: int) -> str:
        deviation = "" if self.deviations is None else f" ± {number(float(self.deviations[n]))}"
        return f"{self.name} {number(float(self.values[n]))}{deviation}"


def column_chart(
    labels: Sequence[str], series: Sequence[Series], *, alt: str, axis: str, limit: float | None = None
) -> None:
    """Up to three numbers side by side above each of N labels.

    Args: labels: any text, never taken for HTML, cut if long; alt: what the columns are, for a screen reader;
          axis: what the numbers are; limit: the upper end of their scale, by default the largest number
    """
    high = float(limit or max(one.highs.max(initial=0) for one in series)) or 1.0
    low = float(min(one.lows.min(initial=0) for one in series))

    def share(value: float) -> str:
        return f"{np.clip((value - low) / (high - low), 0, 1):.4f}"

    def marks(n: int) -> Iterable[str]:
        for place, one in enumerate(series):
            ends = f"--n:{place};--from:{share(one.lows[n])};--to:{share(one.highs[n])}"
            if one.deviations is None:
                yield f'<i class="bar s{place}" style="{ends}"></i>'
            else:
                yield f'<i class="line s{place}" style="{ends};--at:{share(one.values[n])}"></i>'

    shown = [_cut(piece(label)) for label in labels]
    longest = max(map(len, shown), default=0)
    flat = len(shown) * (longest + 1) <= _FLAT
    body = "".join(
        f'<li style="--p:{(n + 0.5) / len(shown):.4f}">{"".join(marks(n))}<span>{in_html(name)}</span>'
        f"<b>{in_html(piece(label))}<br>{'<br>'.join(in_html(one.says(n)) for one in series)}</b></li>"
        for n, (name, label) in enumerate(zip(shown, labels, strict=True))
    )
    legend = "".join(f'<span class="s{n}">{in_html(one.name)}</span>' for n, one in enumerate(series))
    lines = "".join(f'<u style="--at:{share(at)}">{text}</u>' for at, text in ticks(low, high))
    manner = "" if flat else " slanted many" if len(shown) > _MANY else " slanted"
    room = 1.4 if flat else 0.8 + 0.36 * longest  # rem, for the labels: slanted where they do not fit side by side
    st.html(
        f'<figure class="tw-columns{manner}" role="img" aria-label="{in_html(alt)}"'
        f' style="--of:{len(series)};--room:{room:.2f}rem"><figcaption>{in_html(axis)} {legend}</figcaption>'
        f"<div>{lines}<ol>{body}</ol></div></figure>"
    )


def _cut(label: str) -> str:
    return label if len(label) <= LABEL_LENGTH else label[: LABEL_LENGTH - 1] + "…"


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Two to eight round numbers from low to high, and how they are written."""
    rough = (high - low) / 6
    power = 10.0 ** np.floor(np.log10(rough))
    step = float(next(size * power for size in (1, 2, 5, 10) if size * power >= 0.999 * rough))
    digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [(n * step, number(n * step, digits)) for n in range(first, last + 1)]
