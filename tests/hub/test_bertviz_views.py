"""BertViz's pages: whole, small, offline, and deaf to markup in the tokens."""

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from hub.attention import AttentionMaps
from hub.bertviz_views import HEAD_COLOURS, LINE_COLOURS, MAX_WEIGHTS, View, _page, draw, head_view, model_view

HOSTILE = [
    "</script><script>alert(1)</script>", "<!--", "<img src=x onerror=alert(1)>", "\u2028", "PYTHON_PARAMS",
    "\ue000", "]]>",
]  # fmt: skip


def maps(tokens: list[str], kind: str = "encoder", layers: int = 2, heads: int = 3) -> AttentionMaps:
    n = len(tokens)
    weights = np.random.default_rng(0).dirichlet(np.ones(n), (layers, heads, n)).astype(np.float32)
    words = tuple(range(n))
    return AttentionMaps(kind, weights, tuple(tokens), tuple(tokens), words, words)


def parameters(page: str) -> dict:
    """What the page's script was given."""
    (found,) = re.findall(r"const params = (\{.*\}); // HACK|const params = (\{.*\});", page)
    return json.loads(found[0] or found[1])


def page(view: Callable[..., View], one: AttentionMaps, mode: str = "light", layer: int = 0) -> str:
    return view(one, mode, layer).page


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("view", [head_view, model_view])
@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_the_tokens_and_weights_are_all_there(kind: str, view, layer: int) -> None:
    one = maps(["a", "b", *HOSTILE], kind)
    if kind == "cross":
        one = replace(one, columns=one.columns[::-1])
    drawn = view(one, "light", layer)
    data = parameters(drawn.page)
    shown = {head_view: (layer,), model_view: (0, 1)}[view]
    assert tuple(data["include_layers"]) == drawn.layers == shown
    texts = data["attention"][0]
    for side, tokens in (("left_text", one.rows), ("right_text", one.columns)):
        assert tuple(text.replace("�", "\ue000") for text in texts[side]) == tokens
    assert np.allclose(texts["attn"], one.weights[list(shown)], atol=6e-5)


@pytest.mark.parametrize("view", [head_view, model_view])
@pytest.mark.parametrize("token", HOSTILE)
def test_no_token_leaves_its_script(view, token: str) -> None:
    plain, hostile = page(view, maps(["a", "b"])), page(view, maps(["a", token]))
    assert hostile.count("<") == plain.count("<")
    assert hostile.count("</script>") == plain.count("</script>") == 4


@pytest.mark.parametrize("view", [head_view, model_view])
def test_only_our_own_scripts_may_run_and_nothing_is_fetched(view) -> None:
    html = page(view, maps(["a", "b"]), "dark")
    (nonce,) = set(re.findall(r'<script nonce="([^"]+)">', html))
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'" in html
    assert not re.search(r'(src|href)="', re.sub(r"<script nonce.*?</script>", "", html, flags=re.DOTALL))
    assert page(view, maps(["a", "b"]), "dark") != html  # another number each time


def test_twenty_tokens_take_less_than_a_megabyte() -> None:
    twenty = [f"token{i}" for i in range(20)]
    assert len(page(head_view, maps(twenty, layers=6, heads=8))) < 1e6
    assert len(page(model_view, maps(twenty, layers=6, heads=8))) < 1e6


def test_of_a_large_model_the_layers_around_the_chosen_one_are_drawn() -> None:
    large = maps(["a"] * 40, layers=24, heads=5)
    layers = model_view(large, "light", 20).layers
    assert len(layers) == MAX_WEIGHTS // (5 * 40 * 40) == 7
    assert layers == tuple(range(17, 24))
    assert model_view(large, "light", 0).layers == tuple(range(7))
    assert model_view(large, "light", 12).layers == tuple(range(9, 16))


def test_a_draw_is_one_view_or_the_other() -> None:
    one = maps(["a", "b"])
    head, model = (draw(one, 1, 2, by_head, "light") for by_head in (True, False))
    assert head.layers == (1,)
    assert "MARKED = 2;" in head.page
    assert model.layers == (0, 1)
    assert "MARKED = null;" in draw(one, 1, None, True, "light").page


def test_another_version_of_bertviz_is_noticed() -> None:
    html = '<script type="text/javascript">const params = {};\nconst BOXHEIGHT = 23;</script>'
    with pytest.raises(ValueError, match=r"no 'const BOXHEIGHT = 22\.5;'"):
        _page(html, "light", {}, {"const BOXHEIGHT = 22.5;": ""})


def test_part_of_a_map() -> None:
    one = maps(["a", "b", "c"])
    part = one.first(2)
    assert part.rows == ("a", "b")
    assert np.array_equal(part.weights, one.weights[:, :, :2, :2])


def test_maps_that_do_not_fit_their_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit 1 rows"):
        AttentionMaps("encoder", np.zeros((1, 1, 2, 2), np.float32), ("a",), ("a", "b"), (0,), (0, 1))


def test_layers_and_heads_are_counted_from_1() -> None:
    head, model = (page(view, maps(["a", "b"]), "dark") for view in (head_view, model_view))
    assert ".text(layer + 1)" in head
    assert ".text(layer)" not in head
    for written in ("config.heads[i] + 1", "config.layers[i] + 1", "(config.layers[layerIndex] + 1)", "'#11161d'"):
        assert written in model, written


def test_what_the_visitor_wrote_is_not_rewritten_with_the_script() -> None:
    html = page(head_view, maps([".text(layer)", " "]))
    assert parameters(html)["attention"][0]["left_text"] == [".text(layer)", "␣"]


def test_a_view_is_as_high_as_what_it_draws() -> None:
    few, many = maps(["a"] * 5, heads=4), maps(["a"] * 40, heads=4)
    assert head_view(many, "light", 0).height - head_view(few, "light", 0).height == 35 * 30
    wide, high = (0,) * 40, (0,) * 5
    weights = np.full((2, 4, 5, 40), 1 / 40, np.float32)
    read = AttentionMaps("cross", weights, few.rows, many.columns, high, wide)  # the longer side counts
    assert head_view(read, "light", 0).height == head_view(many, "light", 0).height
    assert model_view(many, "light", 0).height > 2 * 21 * 40  # two layers, 84 / 4 pixels a token


def linear(colour: str) -> np.ndarray:
    """Light of the three primaries in a colour of the web."""
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def oklab(light: np.ndarray) -> np.ndarray:
    """Björn Ottosson's space, where distances are about as large as they look."""
    cones = np.cbrt(
        np.clip(light, 0, 1)
        @ np.array([[0.41222, 0.21190, 0.08830], [0.53633, 0.68070, 0.28172], [0.05145, 0.10740, 0.62998]])
    )
    return cones @ np.array([[0.21045, 1.97800, 0.02590], [0.79362, -2.42859, 0.78277], [-0.00407, 0.45059, -0.80868]])


# Machado, Oliveira, Fernandes 2009: what is seen without red-sensitive, without green-sensitive cones.
SEEN = (
    np.eye(3),
    np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
)
QUERY_KEY_VALUE_OUTPUT = "#0072B2", "#E69F00", "#009E73", "#CC79A7"


@pytest.mark.parametrize(("mode", "ground"), [("light", "#ffffff"), ("dark", "#11161d")])
def test_the_colours_of_heads_can_be_told_apart(mode: str, ground: str) -> None:
    colours = HEAD_COLOURS[mode]  # type: ignore[index]
    for seen in SEEN:
        places = [oklab(linear(colour) @ seen.T) for colour in colours]
        for one, two in itertools.combinations(range(len(colours)), 2):
            least = 0.18 if two < 4 else 0.09 if two < 8 else 0.07  # BertViz's own third and fourth: 0.007
            assert np.linalg.norm(places[one] - places[two]) > least, (colours[one], colours[two])
    for colour in colours:
        others = [oklab(linear(other)) for other in QUERY_KEY_VALUE_OUTPUT]
        assert min(np.linalg.norm(oklab(linear(colour)) - other) for other in others) > 0.1, colour
    for colour in (*colours, LINE_COLOURS[mode]):  # type: ignore[index]
        dark, bright = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (colour, ground))
        assert (bright + 0.05) / (dark + 0.05) > 3, colour


def test_what_a_decoder_may_not_see_is_hidden_and_nothing_else() -> None:
    one = maps(["a", "b", "c"], "decoder")
    assert not one.hidden.any()
    causal = np.tril(one.weights)
    causal[..., 2, 0] = 0  # allowed, but no head looks there
    masked = AttentionMaps("decoder", causal, one.rows, one.columns, one.row_words, one.column_words)
    assert masked.hidden.tolist() == np.triu(np.ones((3, 3), bool), 1).tolist()
