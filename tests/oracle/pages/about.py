"""What the page about the model must show."""

import json
import platform

from tests.oracle import siblings
from tests.oracle.claims import caption, code, fold, header, markdown, table
from tests.oracle.common import Statements
from tests.oracle.forward import FOLDER, config, weights
from tests.oracle.frame import bar
from tests.oracle.page import Page
from tests.oracle.statement import Statement

STATES = ({},)
STACKS = ("encoder", "decoder")


def frame(page: Page) -> Statements:
    sizes = config()
    n_parameters = sum(w.size for w in weights().values())
    d_k = weights()["encoder.layers.0.self_attn.w_k.weight"].shape[0] // sizes["n_heads"]
    d_ff = len(weights()["encoder.layers.0.feed_forward.w_1.bias"])
    yield from bar(page)
    yield Statement("title", "About the model")
    yield markdown(
        "Every number in the lessons comes from one small Transformer, computed while you watch. It is an "
        "encoder-decoder as in *Attention Is All You Need* (Vaswani et al. 2017): layers normalised after each "
        "residual sum, ReLU, sinusoidal positions, embeddings times √d_model, and an output that shares its matrix "
        "with the embeddings. Some lessons have small models of their own beside it. *Before attention* has three "
        "readers, which learned from the English side of the same sentences. Those under *Variants* and *Training* have "
        "siblings of the translator, and models that learn before your eyes. (Under *Explore*, other people's models speak for themselves.)"
    )
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
    yield caption(
        "The two columns on the right: Vaswani et al. 2017, §5 and Tables 2 and 3. Do not compare the last row: the "
        "paper's sentences come from the news, these are short and from everyday life. "
        f"This model runs here on: CPU · {platform.machine()}."
    )
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    _, title, card = card.partition("\n# Model card\n")
    assert title
    check_card(card, n_parameters)
    yield markdown(card.strip())
    yield caption(
        "BLEU and chrF compare a translation with those that people wrote, from 0 to 100: BLEU by the runs of up to "
        "four words that agree, chrF by the runs of up to six letters."
    )
    if len(siblings.names()) > 1:
        yield header("The small siblings")
        yield markdown(
            f"Beside the translator there are {len(siblings.names())} smaller ones, which were trained alike. Each is named "
            "after the one part in which it differs. The lessons under *Variants* put any two side by side."
        )
        yield from siblings.sibling_table("")
    yield header("Where the sentences come from")
    yield markdown(
        "The model learned from **sentence pairs from Tatoeba** ([tatoeba.org](https://tatoeba.org)), "
        "[CC BY 2.0 FR](https://creativecommons.org/licenses/by/2.0/fr/), in part by way of "
        "[www.manythings.org/anki](https://www.manythings.org/anki/). "
        "Changes made: selection, deduplication, quote normalisation."
    )
    yield fold("All measured figures (metrics.json)")
    yield code(json.dumps(json.loads((FOLDER / "metrics.json").read_text()), indent=2))
    yield caption("The code is open under the MIT licence; the notice about the data is in assets/NOTICE.")


def check_card(card: str, n_parameters: int) -> None:
    """The card's figures are those of the weights."""
    sizes = config()
    assert f"{n_parameters:,} parameters, {sizes['n_layers']} + {sizes['n_layers']} layers" in card
    assert f"d_model {sizes['d_model']}, {sizes['n_heads']} heads" in card
