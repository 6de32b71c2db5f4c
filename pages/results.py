"""Results: what papers report, this app's own translators beside it, and who grew how large when. All with sources."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from experiments.training.published_results import Column, ResultTable, Row, Value, load_table
from experiments.training.siblings import DIFFERS
from experiments.training.training_cost import (
    BatchSizes,
    Trained,
    load_batch_sizes,
    trained_translators,
    training_flops,
)
from figures.results import Scored, Sized, quality_against_compute, sizes_by_time
from model.config import ModelConfig
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import TRANSLATOR
from ui import engine
from ui.controls.control import Choice
from ui.course.lesson import COURSE
from ui.text import in_markdown, magnitude, number
from ui.views.charts.tables import Link, numbers_of_figure, table

LANGUAGE = Choice("From English into", "results_language", ("German", "French"))
TICKS = {"German": (24, 25, 26, 27, 28, 29), "French": (37, 38, 39, 40, 41, 42, 43)}
# Names stand to the left of their points, but where they would lie on others; ensembles have none, for want of room.
SIDES = {
    "German": {
        "GNMT + RL": "middle right",
        "ConvS2S": "bottom left",
        "Transformer (big)": "top center",
        "Transformer (base)": "middle right",
    },
    "French": {"ConvS2S": "bottom center", "Transformer (base)": "middle right"},
}
ENSEMBLE = ", ensemble"
OWN = "the one that translates your sentence"
# What the part replaces, where its own name does not say so: by how a sibling's name begins.
INSTEAD = {"activation": "ReLU", "norm-rms": "LayerNorm", "norm-place-deep": "the usual Add & Norm"}
AS_IN_THE_PAPER = "the paper's order"

# Of the paper's base model (Vaswani et al. 2017, §5 and Table 3), and how its authors found the price of its training.
BASE = ModelConfig(vocab_size=37_000, d_model=512, n_heads=8, n_layers=6, d_ff=2048)
STEPS, BATCH = 100_000, 25_000  # a batch: about so many pieces of each language
HOURS, GPUS, FLOPS_A_SECOND = 12, 8, 9.5e12  # a P100 at its work


def own_translators() -> tuple[Trained, ...]:
    """What comes with the app; nothing, and a sentence about why, if their figures cannot be read."""
    try:
        return trained_translators()
    except CheckpointError as error:
        st.caption(in_markdown(str(error)))
        return ()


# --- the first picture -----------------------------------------------------------------------------------------------


def published(language: str) -> list[Scored]:
    """The systems of the paper's table with a figure for quality and one for the price."""
    facts = load_table("translation")
    bleu, flops = facts.column(f"BLEU, {language}"), facts.column(f"FLOPs, {language}")
    points = []
    for row in facts.rows:
        if row.values[bleu] is None or row.values[flops] is None:
            continue
        is_ensemble, is_transformer = row.name.endswith(ENSEMBLE), row.name.startswith("Transformer")
        points.append(
            Scored(
                row.name,
                "Transformer" if is_transformer else "ensemble of several" if is_ensemble else "one model",
                float(row.values[flops] or 0),
                float(row.values[bleu] or 0),
                "" if is_ensemble else row.name,
                SIDES[language].get(row.name, "middle left"),
            )
        )
    return points


def quality_and_price(translators: Sequence[Trained]) -> None:
    language = LANGUAGE.draw()
    points = published(language)
    st.plotly_chart(
        quality_against_compute(points, TICKS[language]),
        key=f"quality_{language}",
        config={"displayModeBar": False},
        alt=f"BLEU into {language} against the FLOPs of the training on a log axis: {len(points)} systems of a paper "
        "of 2017.",
    )
    st.caption(f"Higher is better, further left is cheaper. {verdict(points)}")
    numbers_of_figure(
        ("system", "BLEU", "FLOPs of the training"),
        [(point.name, f"{point.bleu:g}", magnitude(point.flops)) for point in points],
    )
    if translators:
        own_prices(translators, max(points, key=lambda point: point.bleu))


def verdict(points: Sequence[Scored]) -> str:
    """The best Transformer against the best of the others."""
    best = {
        is_new: max((p for p in points if (p.group == "Transformer") == is_new), key=lambda p: p.bleu)
        for is_new in (True, False)
    }
    return (
        f"{best[True].name} is {number(best[True].bleu - best[False].bleu, 1)} BLEU above the best of the others "
        f"({best[False].name}) and took {number(best[False].flops / best[True].flops, 1)} times fewer FLOPs."
    )


def own_prices(translators: Sequence[Trained], best: Scored) -> None:
    """This app's translators, apart from the picture: their BLEU is that of another test set."""
    mine = next(one for one in translators if one.name == TRANSLATOR)
    st.markdown(
        f"**This app's own translators** do not stand in the picture. They write German alone, and their BLEU is that "
        "of 2,000 short everyday sentences, some with several right translations. The systems above translated news. "
        f"So only the prices can be compared: the training of {best.name} took "
        f"about {round(best.flops / mine.flops, -3):,.0f} times as many FLOPs as that of this app's translator."
    )
    table(
        ("this app's", "how it is made", "BLEU, everyday sentences", "FLOPs of the training"),
        [(one.name, how_made(one.name), number(one.bleu, 2), magnitude(one.flops)) for one in translators],
    )
    st.caption(
        "All below the first are its *siblings*: small translators, trained by one recipe. Those named *plain* have "
        "the parts of the paper of 2017 and differ in their *seed* alone, the random numbers that training began "
        "with. Each of the others differs from them in the part that is named, which a lesson of *Variants* or "
        "*Beyond attention* explains. "
        "The translator searches with 4 beams, its siblings take the likeliest piece. Part of what it learned from was "
        f"written by {len(mine.teachers)} other models. Their training took {magnitude(sum(mine.teachers))} FLOPs "
        "more. A student that was trained by another seed and not chosen is not counted."
    )


def how_made(name: str) -> str:
    """In which part a sibling differs from the plain ones."""
    old = next((f" in place of {part}" for begins, part in INSTEAD.items() if name.startswith(begins)), "")
    return DIFFERS.get(name, OWN) + old


def how_counted(translators: Sequence[Trained]) -> None:
    sizes = load_batch_sizes(TRANSLATOR) if translators else None
    with st.expander("How the FLOPs were found"):
        st.markdown(
            "**The paper's** are estimates: hours × GPUs × what such a GPU does in a second. For the base Transformer: "
            f"{HOURS} hours × {GPUS} GPUs × {magnitude(FLOPS_A_SECOND)} a second = "
            f"{magnitude(HOURS * 3600 * GPUS * FLOPS_A_SECOND)} (Vaswani et al. 2017, §6.1)."
        )
        st.markdown(
            "**Ours** are counted: the multiplications and additions in all products of matrices of the training. N is "
            "the number of layers, d the width, F the weights in the matrices of one feed-forward network, V the "
            "vocabulary. S and T are the positions that encoder and decoder read in all steps together, padding "
            "included. S₂, T₂ and P are the sums of S², T² and S · T of each row of a batch."
        )
        st.latex(r"6\,\Big[N\big(S(4d^2+F)+2dS_2\big)+N\big(T(6d^2+F)+2d^2S+2d(T_2+P)\big)+TdV\Big]")
        st.caption(
            "The 6: each multiplication comes with an addition, and all is done once forwards and twice backwards. "
            "Norms, softmax and the update of the weights are left out."
        )
        if sizes:
            names = ("N", "d", "F", "V", "S", "T", "S₂", "T₂", "P", "FLOPs")
            counts = counted(engine.model(TRANSLATOR).config, sizes)
            table(("of the translator", "number"), list(zip(names, counts, strict=True)))
        all_steps = BatchSizes(STEPS * BATCH, STEPS * BATCH, 0, 0, 0)
        st.markdown(
            f"Counted in this way, without QKᵀ and weights times V, the base Transformer's {STEPS:,} steps of about "
            f"{BATCH:,} pieces of each language come to {magnitude(training_flops(BASE, all_steps))}. The table's "
            "figure is "
            f"{number(HOURS * 3600 * GPUS * FLOPS_A_SECOND / training_flops(BASE, all_steps), 1)} times as large: so "
            "far apart are the two ways of finding FLOPs."
        )


def counted(config: ModelConfig, sizes: BatchSizes) -> tuple[str, ...]:
    whole = (config.n_layers, config.d_model, 2 * config.d_model * config.d_ff, config.vocab_size)
    sums = (sizes.source, sizes.target, sizes.source_pairs, sizes.target_pairs, sizes.cross_pairs)
    return (*(f"{n:,}" for n in (*whole, *sums)), magnitude(training_flops(config, sizes)))


# --- the tables ------------------------------------------------------------------------------------------------------


def written(value: Value, column: Column) -> str:
    """A value as people read it; a dash where the paper has none."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return {"plain": f"{value:g}", "tenths": f"{value:.1f}", "power": magnitude(value), "size": in_words(value)}[
        column.form
    ]


def in_words(n: float) -> str:
    """A number of parameters: 65 million, 1.54 billion."""
    return f"{n / 1e6:g} million" if n < 1e9 else f"{n / 1e9:.3g} billion"


def sortable(name: str, first: str) -> None:
    """A table of results with the choice of a column to sort by."""
    facts = load_table(name)
    by = st.selectbox(
        "Sort by",
        (AS_IN_THE_PAPER, *(column.name for column in facts.columns)),
        key=f"sort_{name}",
        bind="query-params",
        width=240,
    )
    rows = facts.rows if by == AS_IN_THE_PAPER else facts.best_first(by)
    head = (first, *(column.name for column in facts.columns))
    sources = {row.source for row in rows}
    if len(sources) > 1:
        table((*head, "source"), [(*line(row, facts), Link(row.source.label, row.source.url)) for row in rows])
    else:  # one for all stands below: a phone has no room to say it in each row
        table(head, [line(row, facts) for row in rows])
        st.caption("All figures: " + "".join(f"[{source.label}]({source.url})" for source in sources))


def line(row: Row, facts: ResultTable) -> tuple[str, ...]:
    values = (written(value, column) for value, column in zip(row.values, facts.columns, strict=True))
    return (row.name, *values)


def tables() -> None:
    st.header("The tables", anchor=False)
    translation, glue, squad, rotary, sizes = st.tabs(["Translation", "GLUE", "SQuAD", "Rotary positions", "Sizes"])
    with translation:
        sortable("translation", "system")
        st.caption(
            "On news (WMT 2014). An ensemble lets several trained models decide together. For a Transformer the paper "
            "gives one figure of FLOPs for both languages. Into French, its text says 41.0 for the big one, its table "
            "41.8. All figures have as many decimals as the paper prints."
        )
    with glue:
        sortable("glue", "system")
        st.caption(
            "Tasks about English sentences: does one follow from the other (MNLI, RTE), do two mean the same (QQP, "
            "MRPC), how alike are they (STS-B), does one answer the other (QNLI), is it praise (SST-2), is it good "
            "English (CoLA). The average is over all columns. Most columns are accuracies. QQP and MRPC are F1 scores, "
            "STS-B and CoLA are correlations. GPT of 2018 learned from books alone; Wikipedia came with BERT."
        )
    with squad:
        sortable("squad", "who answers")
        st.caption(
            "Questions whose answer stands in a paragraph of Wikipedia (SQuAD 1.1). *Exact*: the share of answers that "
            "are the right words and no others. *F1*: how many words an answer shares with the right one. *Dev* helped "
            "to choose settings, *test* was kept secret. As of December 10, 2018. A system that scores above people "
            "here is better at finding such answers; that does not mean it reads better."
        )
    with rotary:
        sortable("rotary", "model")
        st.caption(
            "Rotary positions (RoFormer) against learned ones (BERT) on tasks of GLUE, as the RoFormer paper sets them "
            "side by side. It is no fair race: one row is from the secret test sets, the other from the validation "
            "sets. The paper writes GLEU, which is another measure; the tasks are those of GLUE."
        )
    with sizes:
        sortable("sizes", "model")
        st.caption(
            "*First published* is the month of the paper. Models of whose size no paper speaks are left out, GPT-4 and "
            "ChatGPT among them. GPT's own paper names no number, that of GPT-2 does. Of DeepSeek-V3's parameters, 37 "
            "billion work on any one piece. Often told otherwise: GPT-NeoX has rotary positions, not relative ones "
            "like T5."
        )


# --- who grew how large when -----------------------------------------------------------------------------------------


def timeline() -> None:
    st.header("Ten years of growth", anchor=False)
    facts = load_table("sizes")
    published_at, kind, size = (facts.column(name) for name in ("first published", "kind", "parameters"))
    models = [
        Sized(
            f"{str(row.values[published_at])[:4]} {short(row)}",
            str(row.values[kind]),
            float(row.values[size] or 0),
            in_words(float(row.values[size] or 0)),
            bool(row.lesson),
        )
        for row in facts.rows
    ]
    factor = max(model.parameters for model in models) / engine.model(TRANSLATOR).n_parameters
    st.markdown(
        "The oldest stands above. Click on a filled sign: it opens the lesson that teaches a part of that model. The "
        f"largest has {in_words(max(model.parameters for model in models))} parameters, "
        f"about {round(factor, -3):,.0f} times as many as this app's translator."
    )
    chosen: Any = st.plotly_chart(
        sizes_by_time(models, ("this app's<br>translator", engine.model(TRANSLATOR).n_parameters)),
        key="sizes",
        on_select="rerun",
        selection_mode="points",
        config={"displayModeBar": False},
        alt=f"The parameters of {len(models)} models of {models[0].name[:4]} to {models[-1].name[:4]} on a log axis, "
        "and those of this app's translator as a dotted line.",
    )
    open_lesson(facts.rows, chosen["selection"]["points"])
    numbers_of_figure(
        ("model", "kind", "parameters", "what a lesson teaches of it"),
        [
            (model.name, model.kind, f"{model.parameters:,.0f}", row.part)
            for model, row in zip(models, facts.rows, strict=True)
        ],
    )
    st.subheader("The lessons behind them", anchor=False)
    columns = st.columns(2, gap="medium")
    taught = [row for row in facts.rows if row.lesson]
    for n, row in enumerate(taught):
        lesson = COURSE.lesson(row.lesson)
        with columns[2 * n // len(taught)]:
            st.page_link(COURSE.page(lesson), label=f"{in_markdown(short(row))} → {lesson.title}")


def short(row: Row) -> str:
    """The name without what stands behind a comma."""
    return row.name.partition(",")[0]


def open_lesson(rows: Sequence[Row], points: Sequence[dict[str, Any]]) -> None:
    """Go where a click on the picture leads."""
    for point in points:
        row = rows[int(point["customdata"])]
        if row.lesson:
            st.switch_page(COURSE.page(COURSE.lesson(row.lesson)))
        st.caption(f"No lesson teaches {in_markdown(row.name)} yet.")


st.title("Results", anchor=False)
st.markdown(
    "*How much better did it get, and at what price?* **BLEU** says how far a translation agrees with those that "
    "people wrote, from 0 to 100. The price of a training is counted in **FLOPs**: single additions and "
    "multiplications."
)
translators = own_translators()
quality_and_price(translators)
how_counted(translators)
tables()
timeline()
