"""What a visitor typed is hostile until it has passed through here."""

import html
import math
import re
import unicodedata

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&@=^\"'/])")
# Places inside what Streamlit reads as one even when escaped: -> and its like, addresses, :names:. An invisible word
# joiner there keeps the signs apart.
_READ_AS_ONE = re.compile(r"(?<=[-<>~=])(?=[-<>~=])|(?=[:@])|(?<=[wW]{3})(?=\.)")
_JOINER = "\u2060"

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def visible(text: str) -> str:
    """Text whose control and direction-changing characters are shown as ‹U+…› instead of acting."""
    if text.isprintable():  # as nearly all is; it has no such character then
        return text
    return "".join(
        f"‹U+{ord(c):04X}›" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") and c not in "\u200d\u200c" else c
        for c in text
    )


def piece(text: str) -> str:
    """A piece of text as it can be seen: spaces alone as ␣."""
    return visible(text) if text.strip(" ") else "␣"


def in_html(text: str) -> str:
    """Text as HTML text or as a quoted attribute's value."""
    return html.escape(visible(text), quote=True)


def in_markdown(text: str) -> str:
    """Text that Streamlit's Markdown shows as it is: no emphasis, link, colour, icon or formula; spaces alone as ␣."""
    words = " ".join(visible(text).split())
    if text and not words:
        return "␣"
    return _JOINER.join(_MARKDOWN.sub(r"\\\1", part) for part in _READ_AS_ONE.split(words))


def bold(text: str) -> str:
    """Text as bold Markdown, whatever it holds."""
    return f"**{in_markdown(text)}**"


def number(value: float, digits: int = 4) -> str:
    """A number with a fixed count of decimals and a true minus sign; infinities as ∞."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


ALL = 1 - 1e-6  # what is more may be 1: float32 rounds


def chance(probability: float, digits: int = 4) -> str:
    """A probability; what so many decimals would show as 0 or 1 is neither impossible nor sure."""
    least = 10.0**-digits
    if 0 < probability < least / 2:
        return f"<{number(least, digits)}"
    return f">{number(1 - least, digits)}" if 1 - least / 2 <= probability < ALL else number(probability, digits)


def legible(value: float) -> str:
    """A number with four decimals; by its size if they would show it as 0: 3.2 · 10⁻⁶."""
    return magnitude(value) if 0 < abs(value) < 0.00005 else number(value)


def magnitude(value: float) -> str:
    """A number of any size in a few characters: 0.123 or 1.2 · 10⁻⁷."""
    if not math.isfinite(value) or value == 0 or 1e-3 <= abs(value) < 1e6:
        return number(value, 3)
    digits, power = f"{value:.1e}".split("e")
    return f"{digits} · 10{str(int(power)).translate(_RAISED)}".replace("-", "−")
