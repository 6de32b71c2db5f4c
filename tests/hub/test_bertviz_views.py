"""BertViz's pages: whole, small, offline, and deaf to markup in the tokens."""

import json
import re

import numpy as np
import pytest

from hub.attention import AttentionMaps, of_trace
from hub.bertviz_views import head_view, head_view_height, model_view, model_view_height
from model.trace import load_machine, trace

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


@pytest.mark.parametrize("view", [head_view, model_view])
def test_the_tokens_and_weights_are_all_there(view) -> None:
    one = maps(["a", "b", *HOSTILE])
    data = parameters(view(one, "light"))["attention"][0]
    assert [t.replace("�", "\ue000") for t in data["left_text"]] == list(one.rows)
    assert np.allclose(data["attn"], one.weights, atol=6e-5)


@pytest.mark.parametrize("view", [head_view, model_view])
@pytest.mark.parametrize("token", HOSTILE)
def test_no_token_leaves_its_script(view, token: str) -> None:
    plain, hostile = view(maps(["a", "b"]), "light"), view(maps(["a", token]), "light")
    assert hostile.count("<") == plain.count("<")
    assert hostile.count("</script>") == plain.count("</script>") == 4


@pytest.mark.parametrize("view", [head_view, model_view])
def test_only_our_own_scripts_may_run_and_nothing_is_fetched(view) -> None:
    page = view(maps(["a", "b"]), "dark")
    (nonce,) = set(re.findall(r'<script nonce="([^"]+)">', page))
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'" in page
    assert not re.search(r'(src|href)="', re.sub(r"<script nonce.*?</script>", "", page, flags=re.DOTALL))
    assert view(maps(["a", "b"]), "dark") != page  # another number each time


def test_twenty_tokens_take_less_than_a_megabyte() -> None:
    twenty = [f"token{i}" for i in range(20)]
    assert len(head_view(maps(twenty, layers=6, heads=8), "light")) < 1e6
    assert len(model_view(maps(twenty, layers=6, heads=8), "light")) < 1e6


def test_our_own_model_in_all_three_kinds() -> None:
    found = trace(load_machine(), "I ate an apple")
    for one in of_trace(found):
        data = parameters(head_view(one, "light", layer=2))["attention"][0]
        assert (data["left_text"], data["right_text"]) == (list(one.rows), list(one.columns))
        assert np.allclose(data["attn"][2], found.attention(one.kind, 2), atol=6e-5)


def test_part_of_a_map() -> None:
    one = maps(["a", "b", "c"])
    part = one.first(2).of_layers([1])
    assert part.rows == ("a", "b")
    assert np.array_equal(part.weights, one.weights[1:, :, :2, :2])


def test_maps_that_do_not_fit_their_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit 1 rows"):
        AttentionMaps("encoder", np.zeros((1, 1, 2, 2), np.float32), ("a",), ("a", "b"), (0,), (0, 1))


def test_layers_and_heads_are_counted_from_1() -> None:
    head, model = head_view(maps(["a", "b"]), "dark"), model_view(maps(["a", "b"]), "dark")
    assert ".text(layer + 1)" in head
    assert ".text(layer)" not in head
    for written in ("config.heads[i] + 1", "config.layers[i] + 1", "(config.layers[layerIndex] + 1)", "'#11161d'"):
        assert written in model, written


def test_what_the_visitor_wrote_is_not_rewritten_with_the_script() -> None:
    page = head_view(maps([".text(layer)", " "]), "light")
    assert parameters(page)["attention"][0]["left_text"] == [".text(layer)", "␣"]


def test_a_view_is_as_high_as_what_it_draws() -> None:
    few, many = maps(["a"] * 5, heads=4), maps(["a"] * 40, heads=4)
    assert head_view_height(few) < head_view_height(many)
    assert model_view_height(many) > 2 * 21 * 40  # two layers, 84 / 4 pixels a token


def test_what_a_decoder_may_not_see_is_hidden_and_nothing_else() -> None:
    one = maps(["a", "b", "c"], "decoder")
    assert not one.hidden.any()
    causal = np.tril(one.weights)
    causal[..., 2, 0] = 0  # allowed, but no head looks there
    masked = AttentionMaps("decoder", causal, one.rows, one.columns, one.row_words, one.column_words)
    assert masked.hidden.tolist() == np.triu(np.ones((3, 3), bool), 1).tolist()
