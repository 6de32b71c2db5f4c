"""Why add, and why norm: the gradient in a deep stack, in four builds."""

import streamlit as st

from experiments.blocks.deep_stack import JOINTS, MAX_DEPTH, deep_run
from figures.add_norm import gradient_lines
from ui.controls.address import read_count, write_count
from ui.controls.control import Number
from ui.text import magnitude, number
from ui.views.charts.tables import numbers_of_figure, table

DRAWS = 9  # of random weights
ALIKE_AFTER = 3  # layers of the deep stack
DEPTH = Number("Layers", "depth", 2, MAX_DEPTH, MAX_DEPTH)


def why_add_and_norm() -> None:
    """The gradient in a deep stack, with and without Add and Norm."""
    st.subheader("Why add, and why norm: a deep stack", anchor=False)
    st.markdown(
        "Training changes the weights of a layer by their *gradient*: how much the error at the top would change if "
        "they did. It is worked out from the gradient of the layer's rows, which is handed down layer by layer. Here "
        "is a stack of encoder layers with random weights, as training starts with. Drawn is the size of the gradient "
        "at the rows that each layer reads, in four builds."
    )
    draw = read_count("draw", DRAWS)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        depth = DEPTH.draw()
        st.button("Draw other random weights", on_click=write_count, args=("draw", (draw + 1) % DRAWS))
    runs = {joint: deep_run(joint, depth, draw) for joint in JOINTS}
    st.plotly_chart(
        gradient_lines({joint: run.gradients for joint, run in runs.items()}),
        key="gradients",
        config={"displayModeBar": False},
        alt="The size of the gradient at the input of every layer, on a logarithmic scale, for four builds: "
        + ", ".join(f"{joint} {size(run.gradients[0])} at the first layer" for joint, run in runs.items())
        + "; 1 at the top.",
    )
    after = min(ALIKE_AFTER, depth)
    table(
        ("build", "gradient at layer 1 (at the top: 1)", f"how alike the rows are after layer {after}"),
        [(joint, size(run.gradients[0]), number(run.alike[after], 2)) for joint, run in runs.items()],
    )
    numbers_of_figure(
        ("input of layer", *runs),
        [
            (str(n + 1) if n < depth else "output", *(size(run.gradients[n]) for run in runs.values()))
            for n in range(depth + 1)
        ],
    )
    st.caption(
        "With **neither**, the gradient shrinks from layer to layer, and training moves a layer by its gradient. "
        "**Adding** opens a way past every sub-layer; but then the rows grow with every layer, and so does the "
        "gradient. The **norm** keeps sizes in check. Norm alone would do for the size, but look at the last column, "
        "the mean cosine of two rows: if nothing is added, all rows soon point the same way. It takes both."
    )


def size(value: float) -> str:
    """A gradient's size: small and large ones with a power of ten."""
    return f"{value:,.0f}" if 1000 <= value < 1e6 else magnitude(value)


def where_to_normalise() -> None:
    """Post-norm, as here, and pre-norm: told, not shown."""
    with st.expander("After the sum, or before the sub-layer?"):
        st.markdown(
            "This model normalises **after** the sum, as in 2017: *post-norm*. Most models since then normalise what "
            "goes **into** the sub-layer instead: *pre-norm*, x + Sublayer(LayerNorm(x)). The stream then runs from "
            "bottom to top without a norm on its way. Deep post-norm stacks need a *warm-up*: training has to begin "
            "with small steps, or it fails (Xiong et al. 2020). This model has three layers, and a warm-up."
        )
