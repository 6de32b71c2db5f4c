"""About: what the model is, what it learned from, how good it is, and what it cannot do."""

import json
from pathlib import Path

import streamlit as st

from experiments.training.training_cost import seconds_with_teachers
from ui import engine
from ui.text import in_markdown
from ui.views import siblings
from ui.views.charts.tables import table

PAPER_TOOK = ("12 hours on 8 P100 GPUs", "3.5 days on 8 P100 GPUs")
CARD = Path(__file__).parent.parent / "assets" / "models" / "translator"

st.title("About the model", anchor=False)
config = engine.model().config
st.markdown(
    "Many numbers in the lessons come from one small Transformer, computed while you watch. It is an encoder-decoder "
    "as in *Attention Is All You Need* (Vaswani et al. 2017): layers normalised after each residual sum, ReLU, "
    "sinusoidal positions, embeddings times √d_model, and an output that shares its matrix with the embeddings. Some "
    "lessons have small models of their own, which are named at their top. *Before attention* has three readers, which "
    "learned from the English side of the same sentences. Those under *Variants* and *Training* have siblings of the "
    "translator, and models that learn before your eyes; under *Family*, *Descendants*, *Beyond attention* and *Beyond "
    "text* there are more, a small GPT and a small BERT among them. (Under *Explore*, other people's models speak for "
    "themselves.)"
)
metrics = json.loads((CARD / "metrics.json").read_text(encoding="utf-8"))
training = metrics["training"]
table(
    ("What", "This model", "The paper's base model", "Its big model"),
    [
        ("Parameters (learned numbers)", f"{engine.model().n_parameters:,}", "65 million", "213 million"),
        ("Layers (N), in the encoder and in the decoder", str(config.n_layers), "6", "6"),
        ("Width (d_model)", str(config.d_model), "512", "1,024"),
        ("Heads (h)", str(config.n_heads), "8", "16"),
        ("Width of a head (d_k)", str(config.d_k), "64", "64"),
        ("Feed-forward width (d_ff)", f"{config.d_ff:,}", "2,048", "4,096"),
        ("Vocabulary, shared by both languages", f"{config.vocab_size:,} pieces", *2 * ("about 37,000 pieces",)),
        ("Sentence pairs by people that it learned from", f"{training['pairs']:,}", *2 * ("about 4.5 million",)),
        ("Training steps", f"{training['steps']:,}", "100,000", "300,000"),
        (
            "Training took",
            f"{seconds_with_teachers(training) / 60:.0f} minutes on a GPU, with teachers; a student not chosen aside",
            *PAPER_TOOK,
        ),
        ("BLEU, English to German", f"{metrics['test']['beam 4']['bleu']:.1f}", "27.3", "28.4"),
    ],
)
st.caption(
    "The two columns on the right: Vaswani et al. 2017, §5 and Tables 2 and 3. Do not compare the last row: the "
    "paper's sentences come from the news, these are short and from everyday life. "
    f"This model runs here on: {engine.model().device.label}."
)

# The model card, without the header that the Hub reads and without its title.
st.markdown((CARD / "README.md").read_text(encoding="utf-8").partition("# Model card\n")[2])
st.caption(
    "BLEU and chrF compare a translation with those that people wrote, from 0 to 100: BLEU by the runs of up to four "
    "words that agree, chrF by the runs of up to six letters."
)

if len(siblings.names()) > 1:
    st.header("The small siblings", anchor=False)
    st.markdown(
        f"Beside the translator there are {len(siblings.names())} smaller ones, trained by one recipe. Each is "
        "named after the one part in which it differs. The lessons under *Variants* put any two side by side."
    )
    siblings.sibling_table()

st.header("Where the sentences come from", anchor=False)
st.markdown(
    "Most come from **sentence pairs from Tatoeba** ([tatoeba.org](https://tatoeba.org)), "
    "[CC BY 2.0 FR](https://creativecommons.org/licenses/by/2.0/fr/), in part by way of "
    "[www.manythings.org/anki](https://www.manythings.org/anki/). The card above names the others. "
    "Changes made: selection, deduplication, quote normalisation. The translator’s weights are under "
    "[CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/)."
)
with st.expander("All measured figures (metrics.json)"):
    st.code(json.dumps(metrics, indent=2), language="json", wrap_lines=True)
st.caption(in_markdown("The code is open under the MIT licence; the notice about the data is in assets/NOTICE."))
