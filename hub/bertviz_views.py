"""BertViz's head view and model view, each as an HTML page that needs no network and never runs what a visitor typed.

BertViz loads d3 and jQuery from the internet through require.js, and writes tokens into a script as they are. Here both
libraries are part of the page, and the `<` of a token is written as an escape, so that no token can end the script. A
content security policy with a one-time number also lets only these scripts run and loads nothing. BertViz counts layers
and heads from 0; here they count from 1, as in the whole app.
"""

import re
import secrets
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from hub.attention import AttentionMaps

Mode = Literal["light", "dark"]

DIGITS = 4  # after the point of a weight; rounding makes a view a third as large
MAX_WEIGHTS = 60_000  # in one view; a weight takes eight bytes, the libraries 330 kB
_VENDOR = Path(__file__).parent / "vendor"
_LIBRARIES = "jquery-3.7.1.min.js", "d3-5.7.0.min.js"
_MARK = "\ue000"  # stands for < until the script is written: a private character, in no language

# Answers what BertViz asks of require.js, from the libraries on the page.
_REQUIRE = "var require={config(){}};function requirejs(names,run){run(window.jQuery,window.d3)}"

# In BertViz's scripts: count from 1, and use this app's dark background.
_REPLACED = {
    ".text(layer)": ".text(layer + 1)",
    ".text(config.heads[i])": ".text(config.heads[i] + 1)",
    ".text(config.layers[i])": ".text(config.layers[i] + 1)",
    "'Layer ' + config.layers[layerIndex] + \", Head \" + config.heads[headIndex]": (
        "'Layer ' + (config.layers[layerIndex] + 1) + \", head \" + (config.heads[headIndex] + 1)"
    ),
    "'background': 'black'": "'background': '#11161d'",
}

_STYLE = """
body { margin: 0; font: 15px/1.4 system-ui, sans-serif; }
body.light { color: #1c2733; background: #ffffff; } body.dark { color: #e6ebf1; background: #11161d; }
svg text { fill: currentColor; }
body.dark select { background: #1a222c; color: inherit; }
#vis, div[id^="bertviz-"] { overflow-x: auto; }
"""


def head_view(maps: AttentionMaps, mode: Mode, layer: int = 0, layers: Sequence[int] | None = None) -> str:
    """Lines from token to token, each head of a layer in its own colour.

    Args:    layer: the one to open on; layers: those to choose from, all if None
    Returns: a whole HTML page
    """
    import bertviz  # slow to import

    html = bertviz.head_view(
        **_arguments(maps), layer=layer, include_layers=_list(layers), prettify_tokens=False, html_action="return"
    ).data
    return _page(html, mode)


def model_view(maps: AttentionMaps, mode: Mode, layers: Sequence[int] | None = None) -> str:
    """Every layer and head of one kind of attention as a small map that a click enlarges: a whole HTML page."""
    import bertviz

    html = bertviz.model_view(
        **_arguments(maps), display_mode=mode, include_layers=_list(layers), prettify_tokens=False, html_action="return"
    ).data
    return _page(html, mode)


def head_view_height(maps: AttentionMaps) -> int:
    """Pixels that the head view takes: 22.5 for each token, and what stands above."""
    return 80 + round(22.5 * max(len(maps.rows), len(maps.columns)))


def model_view_height(maps: AttentionMaps) -> int:
    """Pixels that the model view takes: a map's height hangs on the count of heads; one opened large must fit in."""
    n_layers, n_heads = maps.weights.shape[:2]
    n_tokens = max(len(maps.rows), len(maps.columns))
    return 30 + round(max(n_layers * (84 / n_heads * n_tokens + 10) + 38, 18 * n_tokens + 55))


def draw(maps: AttentionMaps, layer: int, heads: bool, mode: Mode) -> tuple[str, int, list[int]]:
    """The head view, or else the model view, of as many layers around one as are quick: page, pixels, these layers."""
    layers = affordable_layers(maps, layer)
    if heads:
        return head_view(maps, mode, layer, layers), head_view_height(maps), layers
    return model_view(maps, mode, layers), model_view_height(maps.of_layers(layers)), layers


def affordable_layers(maps: AttentionMaps, layer: int) -> list[int]:
    """As many layers around this one as make a view of well under a megabyte, at least this one."""
    n_layers = len(maps.weights)
    count = min(n_layers, max(1, MAX_WEIGHTS // maps.weights[0].size))
    first = min(max(0, layer - count // 2), n_layers - count)
    return list(range(first, first + count))


def _list(layers: Sequence[int] | None) -> list[int] | None:
    return None if layers is None else list(layers)


def _arguments(maps: AttentionMaps) -> dict[str, Any]:
    """What BertViz's views take: weights as one tensor a layer, tokens as lists."""
    # In float64, where 0.1235 is written as that; a rounded float32 has sixteen digits when written out.
    weights = [torch.from_numpy(np.round(layer.astype(np.float64), DIGITS))[None] for layer in maps.weights]
    rows, columns = _marked(maps.rows), _marked(maps.columns)
    if maps.kind == "cross":
        return {"cross_attention": weights, "decoder_tokens": rows, "encoder_tokens": columns}
    return {"attention": weights, "tokens": rows}


def _marked(tokens: Sequence[str]) -> list[str]:
    return [token.replace(_MARK, "�").replace("<", _MARK) if token.strip(" ") else "␣" for token in tokens]


@cache
def _libraries() -> tuple[str, ...]:
    return tuple((_VENDOR / name).read_text(encoding="utf-8") for name in _LIBRARIES)


def _page(html: str, mode: Mode) -> str:
    """BertViz's HTML as a page that is allowed its own scripts alone."""
    body, _, script = re.sub(r'<script src="[^"]*"></script>', "", html).partition('<script type="text/javascript">')
    script, _, _ = script.rpartition("</script>")
    code, given, parameters = script.partition("const params = ")
    parameters, end, drawing = parameters.partition("\n")
    for theirs, ours in _REPLACED.items():
        drawing = drawing.replace(theirs, ours)
    script = f"{code}{given}{parameters}{end}{drawing}"
    # JSON writes the mark as \\ue000, and < may be written the same way.
    script = script.replace(r"\ue000", r"\u003c")
    nonce = secrets.token_urlsafe(16)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'"
    scripts = "".join(f'<script nonce="{nonce}">{code}</script>' for code in (*_libraries(), _REQUIRE, script))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>BertViz</title>'
        f'<style>{_STYLE}</style></head><body class="{mode}">{body}{scripts}</body></html>'
    )
