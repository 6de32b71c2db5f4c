"""What the page about the model must show."""

import json
import platform

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import code, markdown, table
from tests.oracle.language.common import Statements
from tests.oracle.language.page import Page
from tests.oracle.passes.forward import FOLDER, config, weights
from tests.oracle.shown import siblings
from tests.oracle.shown.frame import bar

prose = Prose("about")

STATES = ({},)
STACKS = ("encoder", "decoder")


def frame(page: Page) -> Statements:
    sizes = config()
    n_parameters = sum(w.size for w in weights().values())
    d_k = weights()["encoder.layers.0.self_attn.w_k.weight"].shape[0] // sizes["n_heads"]
    d_ff = len(weights()["encoder.layers.0.feed_forward.w_1.bias"])
    yield from bar(page)
    yield from prose("about the model")
    d_model = weights()["encoder.layers.0.self_attn.w_k.weight"].shape[1]
    n_layers = {sum(f"{stack}.layers.{n}.self_attn.w_k.weight" in weights() for n in range(99)) for stack in STACKS}
    measured = json.loads((FOLDER / "metrics.json").read_text(encoding="utf-8"))
    training = measured["training"]
    yield table(
        ("What", "This model", "The paper's base model", "Its big model"),
        ("Parameters (learned numbers)", f"{n_parameters:,}", "65 million", "213 million"),
        ("Layers (N), in the encoder and in the decoder", *map(str, n_layers), "6", "6"),
        ("Width (d_model)", str(d_model), "512", "1,024"),
        ("Heads (h)", str(d_model // d_k), "8", "16"),
        ("Width of a head (d_k)", str(d_k), "64", "64"),
        ("Feed-forward width (d_ff)", f"{d_ff:,}", "2,048", "4,096"),
        (
            "Vocabulary, shared by both languages",
            f"{len(weights()['embedding.matrix.weight']):,} pieces",
            "about 37,000 pieces",
            "about 37,000 pieces",
        ),
        ("Sentence pairs it learned from", f"{training['pairs']:,}", "about 4.5 million", "about 4.5 million"),
        ("Training steps", f"{training['steps']:,}", "100,000", "300,000"),
        (
            "Training took",
            f"{round(training['seconds'] / 60)} minutes on a CPU",
            "12 hours on 8 P100 GPUs",
            "3.5 days on 8 P100 GPUs",
        ),
        ("BLEU, English to German", f"{round(measured['test']['beam 4']['bleu'], 1)}", "27.3", "28.4"),
    )
    yield from prose("the two columns on", platform.machine())
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
    yield code(json.dumps(json.loads((FOLDER / "metrics.json").read_text()), indent=2))
    yield from prose("the code is open")


def check_card(card: str, n_parameters: int) -> None:
    """The card's figures are those of the weights."""
    sizes = config()
    assert f"{n_parameters:,} parameters, {sizes['n_layers']} + {sizes['n_layers']} layers" in card
    assert f"d_model {sizes['d_model']}, {sizes['n_heads']} heads" in card
