"""Do: hide patches by hand, compare where it looks with what matters, read every row, compare places and readers."""

import numpy as np
import streamlit as st

from experiments.pictures.looking import chances, effects, lens, looked_at, rollout
from model.files.load_pictures import CLASS, CNN, NAMES, SIZES, VIT, load_reader, load_vision, picture_metrics
from model.files.loaded_model import Array
from model.trace import Trace
from pages.own_picture import own, read_own
from pages.patches import gone, grid, share, taken_out
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.control import Choice
from ui.text import chance, number
from ui.views.charts.tables import table

TRIAL = Choice("Try", "try", ("Hide patches", "Looks and effects", "Read every row", "Places", "Fewer digits"))
HIDDEN = "hide"  # in the address: patches from 1, like 6.7
KINDS = {VIT: "Vision Transformer", CNN: "convolutional network"}


def do(trace: Trace) -> None:
    {
        "Hide patches": hide,
        "Looks and effects": looks,
        "Read every row": every_row,
        "Places": places,
        "Fewer digits": fewer,
    }[TRIAL.draw()]()


def hide() -> None:
    loaded = load_vision()
    numbers = np.arange(1, 1 + loaded.config.n_patches).reshape(loaded.config.side, -1)
    hidden = gone(HIDDEN, numbers.size)
    first, now = read_own(), read_own(hidden)
    before, after = chances(first), chances(now)
    was, named = int(before.argmax()), int(after.argmax())
    found = engine.alone(lambda: effects(loaded, own().picture, hidden, was))

    st.markdown(
        "**Click a patch to hide it, and again to show it.** Hidden means that no row may look at it. Each number says "
        f"how likely {was} would be if that patch were hidden as well."
    )
    grid(
        found.after,
        Caption(
            f"How likely {was} is without this patch",
            f"With all that is shown now: {chance(found.before)}.",
            hatched="hidden",
        ),
        "hide_patches",
        describe="Without patch {name}: {value}",
        hidden=np.isin(numbers, [*hidden]),
        on_select=taken_out(HIDDEN, numbers),
    )
    if hidden:
        st.markdown(
            f"Hidden: {', '.join(map(str, sorted(hidden)))}. It reads **{named}**, {chance(float(after[named]))}. With "
            f"the whole picture it read **{was}**, {chance(float(before[was]))}."
        )
    else:
        st.markdown(f"Nothing is hidden. It reads **{was}**, {chance(float(before[was]))}.")


def looks() -> None:
    read = read_own()
    was = int(chances(read).argmax())
    found = engine.alone(lambda: effects(load_vision(), own().picture, frozenset(), was))
    st.markdown("**Does it look at what matters?** Three answers for each patch, where it lies in the picture.")
    for column, (values, title, how, key) in zip(
        st.columns(3),
        (
            (looked_at(read), f"{CLASS} looks", "In the last layer, on average over its heads.", "looks_last"),
            (
                rollout(read),
                "Rollout",
                "Attention of all layers, multiplied, residual stream included.",
                "looks_roll",
            ),
            (found.before - found.after, "What hiding it takes", f"How much less likely {was} gets.", "looks_effect"),
        ),
        strict=True,
    ):
        with column:
            scale = Scale("signed", 1.0) if key == "looks_effect" else Scale("positive")
            grid(values, Caption(title, how), key, scale=scale)
    kept = picture_metrics()["hiding"]
    st.markdown(
        f"**Measured on {picture_metrics()['pictures']:,} digits.** How many it still reads right when so many patches "
        "are hidden, in percent, with the standard error:"
    )
    table(
        ("patches hidden", f"those {CLASS} looks at most", "drawn at random from those with ink"),
        [(n, *(share(of[way]) for way in ("looked_at", "random"))) for n, of in kept.items()],
    )
    st.caption(
        "Which it looks at most is found anew after each. Rollout only multiplies weights. The third picture alone "
        "switches patches off."
    )


def every_row() -> None:
    read = read_own()
    said = lens(read)
    was = int(chances(read).argmax())
    st.markdown(
        f"**When did it know?** Only {CLASS} is read, after the last layer. Here every row is read so, after every "
        "layer: we apply the last norm and the last matrix to it. They learned to read one row alone, so what they say "
        "of the others is a guess."
    )
    rows = ["at the start", *(f"after layer {n}" for n in range(1, len(said)))]
    columns = [row.text for row in read.src]
    matrix(
        said[..., was],
        Labels(
            rows,
            columns,
            describe="{row}, {column}: {value} for " + str(was) + ", it would name {name}",
            names=[[f"{row.argmax()}, {chance(float(row.max()))}" for row in layer] for layer in said],
        ),
        Caption(f"How likely each row would call {was}", f"Columns: {CLASS} and the patches.", csv_name="every row"),
        key="every_row",
    )
    last = said[:, 0]
    first = next(n for n in range(len(last)) if all(one.argmax() == was for one in last[n:]))
    st.markdown(
        f"At the start {CLASS} has seen no patch: it says {last[0].argmax()} of every picture. "
        + (f"It says {was} from here on: **{rows[first]}**." if first else "Here it stays with that in every layer.")
    )


def places() -> None:
    table_of_places = load_vision().weights["embedding.positions.table.weight"][1:].astype(np.float64)
    unit = table_of_places / np.linalg.norm(table_of_places, axis=1, keepdims=True)
    names = [str(n) for n in range(1, 1 + len(unit))]
    st.markdown(
        "**Has it found out how patches lie?** Nobody told it: it got 16 places in a row, and learned a vector for "
        "each. The cosine of two vectors is 1 where they point the same way."
    )
    matrix(
        unit @ unit.T,
        Labels(names, names, describe="Places {row} and {column}: {value}", group=4),
        Caption("Cosines of the places", "Four to a row of the picture: place 5 lies below place 1."),
        key="places",
        scale=Scale("signed", 1.0),
    )
    at = np.array([divmod(n, 4) for n in range(len(unit))])
    apart = abs(at[:, None] - at)
    beside, above = ((apart == step).all(-1) for step in ([0, 1], [1, 0]))
    means = [number(float((unit @ unit.T)[where].mean()), 2) for where in (beside, above, apart.max(-1) >= 2)]
    st.markdown(
        f"On average, places side by side: **{means[0]}**; one above the other: **{means[1]}**; at least half the "
        f"picture apart: **{means[2]}**."
    )


def fewer() -> None:
    kept, picture = picture_metrics(), own().picture
    st.markdown(
        "**Patches or filters?** A convolutional network of the same size learned from the same digits. A filter looks "
        "at pixels that lie together, everywhere in the same way. A Vision Transformer must learn that."
    )
    lines = []
    for name in NAMES:
        kind, _, n = name.partition("-")
        said = engine.alone(lambda name=name: spoken(name, picture))
        lines.append(
            (KINDS[kind], f"{int(n):,}", f"{said.argmax()}, {chance(float(said.max()))}", share(kept["test"][name]))
        )
    table(("reader", "digits learned from", "your picture", "right of new digits, %"), lines)
    for n in SIZES:
        mean, error = kept["cnn_ahead"][str(n)]
        apart = f"**{number(100 * abs(mean), 1)} ± {number(100 * error, 1)}** points"
        told = f"the convolutional network is {apart} {'ahead' if mean > 0 else 'behind'}."
        if abs(mean) < 2 * error:
            told = f"the two are {apart} apart: too little to tell which reads better."
        st.markdown(f"From {n:,} digits, {told}")
    many, few = (kept["training"][f"{VIT}-{n}"]["steps"] for n in SIZES)
    st.caption(
        f"{kept['pictures']:,} digits that none of them learned from; after ± the standard error. Both took {many:,} "
        f"steps of {kept['recipe']['batch_size']} digits to learn from the 8,000, and {few:,} from the 500. One "
        "training each: how much another would differ was not measured. In the paper (Dosovitskiy et al. 2021), ViT "
        "falls behind convolutional networks with 1.3 million pictures and passes them with 303 million (Figure 3)."
    )


def spoken(name: str, picture: Array) -> Array:
    """What a reader makes of a picture: the probability of each digit."""
    import torch

    with torch.inference_mode():
        network = load_reader(name)
        device = next(network.parameters()).device
        said: Array = network(torch.from_numpy(picture)[None].to(device)).softmax(-1)[0].cpu().numpy()
    return said
