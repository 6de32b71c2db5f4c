"""The page that the browser tests of `matrix` and `head_grid` drive. Random but seeded numbers.

Query parameters: `t`, `s` the size; `labels` short, long or hostile; `scale`; `masked`, `hatched`; `seed`; `heads` 1 to
show them; `cell` the cell that is chosen at first, like 2,200; `group`, how many columns stand together.
"""

import numpy as np
import streamlit as st

from ui.components.announcement import announce
from ui.components.head_grid import head_grid
from ui.components.matrix import Caption, Labels, Scale, matrix

st.set_page_config(page_title="Components", layout="wide")

HOSTILE = [
    "<img src=x onerror=window.pwned=1>",
    "</script><script>window.pwned=1</script>",
    '"><b onmouseover=window.pwned=1>',
    "=1+1",
    'he said "no", twice',
    "{value}",
]
LONG = ["Donaudampfschifffahrtsgesellschaft", "<eos>", "a", "Ich", "unverwechselbare", "▁gegessen"]
SHORT = ["I", "ate", "an", "apple", ".", "<eos>"]

params = st.query_params
seed = int(params.get("seed", "0"))
t, s = int(params.get("t", "6")), int(params.get("s", "6"))
words = {"short": SHORT, "long": LONG, "hostile": HOSTILE}[params.get("labels", "short")]
scale = params.get("scale", "weight")

with st.sidebar:
    if st.button("Other numbers"):
        st.session_state.seed = st.session_state.get("seed", seed) + 1
    if st.button("Choose the first cell"):
        st.session_state.cell = (0, 0)
    if st.button("One row more"):
        st.session_state.more = st.session_state.get("more", 0) + 1
seed = st.session_state.get("seed", seed)
t += st.session_state.get("more", 0)

random = np.random.default_rng(seed)
values = random.normal(size=(t, s)) * 3
hidden = np.triu(np.ones((t, s), dtype=bool), k=1) if "masked" in params else None
if scale != "signed":
    scores = np.where(hidden, -np.inf, values) if hidden is not None else values
    values = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)


def labels(n: int) -> list[str]:
    return [words[i % len(words)] for i in range(n)] if n <= 100 else [str(i) for i in range(n)]


if "heads" in params:
    maps = np.exp(random.normal(size=(3, 4, t, s)) * 3)
    maps /= maps.sum(-1, keepdims=True)
    left, right = st.columns([2, 3])
    with left:
        head = head_grid(maps, key="heads", selected=st.session_state.get("head", (0, 0)), title="All heads")
        if head:
            st.session_state.head = head
        st.write("Chosen head:", str(head))
        st.write("Kept head:", str(st.session_state.get("head")))
else:
    right = st.container()

if "cell" in params and "cell" not in st.session_state:
    row, column = params["cell"].split(",")
    st.session_state.cell = int(row), int(column)

with right:
    chosen = matrix(
        values,
        Labels(
            labels(t),
            labels(s),
            row_axis="who looks (query)",
            column_axis="what is looked at (key)",
            group=int(params.get("group", "0")),
        ),
        Caption(
            "Encoder, layer 3, head 2",
            "Each row: where this token looks. Every row adds up to 1.",
            csv_name="weights/../layer 3",
            hatched=params.get("hatched", "masked"),
        ),
        key="demo",
        scale=Scale(scale),
        hidden=hidden,
        selected=st.session_state.get("cell"),
    )
    if chosen:
        st.session_state.cell = chosen
    announce(f"The page chose {st.session_state.get('cell')}.", key="said_demo")
    st.write("Chosen:", str(chosen))
    st.write("Kept:", str(st.session_state.get("cell")))
