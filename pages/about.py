"""About: what the model is, what it learned from, how good it is, and what it cannot do."""

import json
from pathlib import Path

import streamlit as st

from ui import engine
from ui.text import in_markdown
from ui.views.tables import table

CARD = Path(__file__).parent.parent / "assets" / "models" / "translator"

st.title("About the model", anchor=False)
config = engine.model().config
st.markdown(
    "Every number in the lessons comes from one small Transformer, computed while you watch. It is an encoder-decoder "
    "as in *Attention Is All You Need* (Vaswani et al. 2017): layers normalised after each residual sum, ReLU, "
    "sinusoidal positions, embeddings times √d_model, and an output that shares its matrix with the embeddings. Only "
    "*Before attention* has three small readers of its own, which learned from the English side of the same sentences. "
    "(Under *Explore*, other people's models speak for themselves.)"
)
table(
    ("What", "How much"),
    [
        ("Parameters (learned numbers)", f"{engine.model().n_parameters:,}"),
        ("Layers", f"{config.n_layers} in the encoder, {config.n_layers} in the decoder"),
        ("Width (d_model)", str(config.d_model)),
        ("Heads", f"{config.n_heads}, each {config.d_k} wide (d_k)"),
        ("Feed-forward width (d_ff)", str(config.d_ff)),
        ("Vocabulary", f"{config.vocab_size:,} pieces, shared by English and German (byte-level BPE)"),
        ("Runs on", engine.model().device.label),
    ],
)

# The model card, without its title.
st.markdown((CARD / "README.md").read_text(encoding="utf-8").partition("\n")[2])
st.caption(
    "BLEU and chrF compare a translation with those that people wrote, from 0 to 100: BLEU by the runs of up to four "
    "words that agree, chrF by the runs of up to six letters."
)

st.header("Where the sentences come from", anchor=False)
st.markdown(
    "The model learned from **sentence pairs from Tatoeba** ([tatoeba.org](https://tatoeba.org)), "
    "[CC BY 2.0 FR](https://creativecommons.org/licenses/by/2.0/fr/), in part by way of "
    "[www.manythings.org/anki](https://www.manythings.org/anki/). "
    "Changes made: selection, deduplication, quote normalisation."
)
with st.expander("All measured figures (metrics.json)"):
    st.code(json.dumps(json.loads((CARD / "metrics.json").read_text()), indent=2), language="json")
st.caption(in_markdown("The code is open under the MIT licence; the notice about the data is in assets/NOTICE."))
