"""What the page about the model must show."""

import json

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import code, markdown
from tests.oracle.language.common import Statements
from tests.oracle.language.page import Page
from tests.oracle.passes import shipped
from tests.oracle.passes.forward import FOLDER, config, weights
from tests.oracle.shown import siblings
from tests.oracle.shown.frame import bar

prose = Prose("about")

STATES = ({},)
STACKS = ("encoder", "decoder")


def frame(page: Page) -> Statements:
    sizes = config()
    n_parameters = shipped.n_parameters("translator")
    d_k = weights()["encoder.layers.0.self_attn.w_k.weight"].shape[0] // sizes["n_heads"]
    d_ff = len(weights()["encoder.layers.0.feed_forward.w_1.bias"])
    yield from bar(page)
    yield from prose("about the model")
    d_model = weights()["encoder.layers.0.self_attn.w_k.weight"].shape[1]
    n_layers = {sum(f"{stack}.layers.{n}.self_attn.w_k.weight" in weights() for n in range(99)) for stack in STACKS}
    measured = shipped.metrics("translator")
    training = measured["training"]
    seconds = training["seconds"] + sum(training["stages"][name]["seconds"] for name in training["teachers"])
    sizes = f"{n_parameters:,}", *n_layers, d_model, d_model // d_k, d_k, f"{d_ff:,}"
    pieces, pairs = f"{len(weights()['embedding.matrix.weight']):,}", f"{training['pairs']:,}"
    took = (
        f"{training['steps']:,}",
        round(seconds / 60),
        round(measured["test"]["beam 4"]["bleu"], 1),
    )
    yield prose.table("beside the paper's", *sizes, pieces, pairs, *took)
    yield from prose("the two columns on", shipped.device())
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    _, title, card = card.partition("\n# Model card\n")
    assert title
    check_card(card, n_parameters)
    yield markdown(card.strip())
    yield from prose("bleu and chrf compare")
    if len(siblings.names()) > 1:
        yield from prose("the small siblings", len(siblings.names()))
        yield from siblings.sibling_table("")
    yield from prose("where the sentences come")
    yield code(json.dumps(measured, indent=2))
    yield from prose("the code is open")


def check_card(card: str, n_parameters: int) -> None:
    """The card's figures are those of the weights."""
    sizes = config()
    assert f"{n_parameters:,} parameters, {sizes['n_layers']} + {sizes['n_layers']} layers" in card
    assert f"d_model {sizes['d_model']}, {sizes['n_heads']} heads" in card
