"""Lesson: several heads side by side, what each of them does, and what becomes of the translation without some."""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from model.attention import MultiHeadAttention
from model.config import ModelConfig
from model.heads import (
    ABOVE_UNIFORM,
    MOSTLY,
    NOTICEABLE,
    PARTLY,
    aligned_words,
    all_heads,
    log_probabilities_without,
    places,
    role,
    shares,
)
from model.interventions import Head, InterventionError, Interventions
from model.tokenizer import EOS, SOS
from model.trace import Array, Trace
from ui import engine
from ui.attention import KINDS, READABLE, tokens_of
from ui.bars import bars
from ui.check import check_cell, checked_matrix
from ui.choose import choose_head, current_head
from ui.compare import MOVED, pieces_before_after
from ui.components.head_grid import head_grid
from ui.components.matrix import matrix
from ui.course import show_lesson
from ui.heads import change_without, measured, probabilities_with, read_off, roles_here, shares_here, write_off
from ui.one_of import one_of
from ui.quiz import Question
from ui.tables import markdown_table, table
from ui.text import in_markdown, magnitude, number

STAGES = EACH, SIDE_BY_SIDE, MIXED = "1 each head", "2 side by side", "3 after W^O"
TRIALS = SWITCH_OFF, RANKING, COST = "Switch heads off", "Which head matters most", "Count the cost"
WINDOW = 16  # dimensions of each head that are shown at once, side by side
MIXED_COLUMNS = 64  # of the d_model after W^O, as many as are shown
RANKED = 5  # heads listed as those that matter most
SHORT = {"encoder": "encoder", "decoder": "masked", "cross": "enc-dec"}  # kinds of attention, above narrow columns
WITHOUT = "without"  # the parameter in the address: the one head that the ranking looks at

MEANING = {
    "encoder": "*previous*, *itself* and *next* are the pieces before, at and after the row's own place.",
    "decoder": "A row has just read its piece and is about to write the next one: *itself* is the piece just read, "
    "*previous* the one before it. There is no *next*, because the causal mask hides it.",
    "cross": "A row is a German piece about to be written, and *aligned* is the English word behind it: the word "
    "without which its probability falls most (each word is hidden in turn, from everybody, and the probability is "
    "computed again). *before* and *after* are the English words next to that one; *read* is the word behind the "
    f"piece in the row above, which was written and read last. A piece that loses less than {NOTICEABLE:.0%} of its "
    "probability whatever word is hidden is aligned to none, and counts as 0.",
}


def sizes(trace: Trace) -> tuple[int, int, int]:
    """Heads of a layer, the width of one, and of all together."""
    n_heads, _, d_k = trace.attention("encoder", 0, "q").shape
    return n_heads, d_k, n_heads * d_k


def where(head: Head) -> str:
    """Which layer of which attention, in words."""
    return f"{KINDS[head.attention].name.lower()}, layer {head.layer + 1}"


def layer_of(head: Head, n_heads: int) -> tuple[Head, ...]:
    """All heads of a head's layer."""
    return tuple(Head(head.attention, head.layer, n) for n in range(n_heads))


def idea(trace: Trace) -> None:
    n_heads, d_k, d_model = sizes(trace)
    st.markdown(
        "One softmax gives one mix, but a piece may need several things at once: the word before it, the verb it "
        f"belongs to, the end of the sentence. So a layer has h = {n_heads} **heads**. Each has its own "
        ":blue[$W^Q$], :orange[$W^K$] and :green[$W^V$], which make vectors of only $d_k = d_{model} / h$ = "
        f"{d_model} / {n_heads} = {d_k} numbers; each looks in its own way and takes away its own result. Side by side "
        f"the results are {d_model} numbers wide again, and one more learned matrix, $W^O$, mixes them."
    )
    st.latex(r"\mathrm{head}_i=\operatorname{Attention}(XW_i^Q,\,XW_i^K,\,XW_i^V)")
    st.latex(r"\operatorname{MultiHead}(X)=\operatorname{Concat}(\mathrm{head}_1,\dots,\mathrm{head}_h)\,W^O")
    st.caption(
        "X holds the vectors that come in, one row for each piece. In encoder-decoder attention the decoder's X makes "
        "the queries alone; keys and values are made from what the encoder gave out."
    )


# --- See -----------------------------------------------------------------------------------------------------------


def choose(trace: Trace) -> None:
    choose_head()
    one_of("Step", STAGES, key="heads_stage", wrap=True, width="content")


def see(trace: Trace) -> None:
    head, stage = current_head(), st.session_state["heads_stage"]
    {EACH: each_head, SIDE_BY_SIDE: side_by_side, MIXED: mixed}[stage](trace, head)
    n_heads, d_k, d_model = sizes(trace)
    t = trace.attention(head.attention, head.layer).shape[1]
    st.caption(
        f"Shapes: {n_heads} heads of ({t}, {d_k}); side by side ({t}, {d_model}); times $W^O$ ({d_model}, {d_model}) "
        f"again ({t}, {d_model})."
    )


def each_head(trace: Trace, head: Head) -> None:
    """The heads of the layer side by side, one of them large, and what each of them does."""
    with st.spinner("Hiding each English word in turn, to find the one behind each German piece"):
        roles = roles_here(trace, head.attention, head.layer)

    def enlarge(chosen: tuple[int, int]) -> None:
        st.session_state["head"] = chosen[1] + 1

    head_grid(
        trace.attention(head.attention, head.layer)[None, :, :READABLE, :READABLE],
        key="layer_heads",
        selected=(0, head.head),
        title=f"All heads of the {where(head)}: click one to see it large",
        row_label="",
        mean=False,
        captions=[roles],
        on_select=enlarge,
    )
    checked_matrix(
        trace,
        f"{head.path}.weights",
        head=head.head,
        kind=head.attention,
        title=f"{KINDS[head.attention].title} ({where(head)}, head {head.head + 1})",
        how_to_read=KINDS[head.attention].how_to_read,
    )
    what_they_do(trace, head, roles)


def what_they_do(trace: Trace, head: Head, roles: Sequence[str]) -> None:
    """The labels of the layer's heads on this sentence and over the test set, and the shares that they come from."""
    found, problem = measured()
    of_layer = layer_of(head, len(roles))
    lines = [[str(n + 1), role_here] for n, role_here in enumerate(roles)]
    titles = ["head", "on this sentence"]
    if found:
        titles.append(f"over {found.n_sentences:,} test sentences")
        lines = [[*line, found.role(one)] for line, one in zip(lines, of_layer, strict=True)]
    st.markdown("**What each head does, measured**")
    table(titles, lines)
    if problem:
        st.caption(in_markdown(f"What the heads do over the test sentences cannot be shown. {problem}"))
    with st.expander("The shares that these labels come from"):
        here, equal = shares_here(trace, head.attention, head.layer)
        share_table("Shares on this sentence", [*here, equal], head, "here")
        if found:
            share_table(
                f"Shares over {found.n_sentences:,} test sentences",
                [*(found.shares[str(one)] for one in of_layer), found.baselines[head.attention]],
                head,
                "measured",
            )
        st.markdown(
            "A share is how much of its weight a head gives to certain pieces, averaged over the rows of its map; a "
            f"row that has no such piece counts as 0. {MEANING[head.attention]} Shares overlap, so they need not add "
            "up to 1."
        )
        st.markdown(
            f"A head is called *mostly* what its largest share says from {MOSTLY} on and *partly* from {PARTLY}, if "
            f"that is at least {ABOVE_UNIFORM} times what equal weights would give. All others are *spread out*."
        )
        if found:
            st.caption(
                f"Test sentences: the English of {in_markdown(found.file)}, each with the model's own translation. "
                f"{in_markdown(found.source)}."
            )


def share_table(title: str, rows: Sequence[Mapping[str, float]], head: Head, name: str) -> None:
    """A row for each head of a layer, and a last one for equal weights."""
    matrix(
        [list(row.values()) for row in rows],
        [*(f"head {n + 1}" for n in range(len(rows) - 1)), "equal weights"],
        [{"eos": EOS, "sos": SOS}.get(share, share) for share in rows[0]],
        key=f"shares_{name}",
        title=title,
        how_to_read="The last row is what a head without preferences would give.",
        describe="{row}, share of “{column}”: {value}",
        csv_name=f"shares {name} {head.attention} layer {head.layer + 1}",
    )


def side_by_side(trace: Trace, head: Head) -> None:
    """The concatenation, some dimensions of every head at a time."""
    n_heads, d_k, _ = sizes(trace)
    firsts = range(0, d_k, WINDOW)
    windows = [f"{first + 1}–{min(first + WINDOW, d_k)}" for first in firsts]
    first = firsts[windows.index(one_of("Dimensions of each head", windows, key="window", wrap=True))]
    inside = range(first, min(first + WINDOW, d_k))
    columns = [n * d_k + dimension for n in range(n_heads) for dimension in inside]
    concat = trace.tensors[f"{head.path}.concat"]
    # Until a cell is chosen: the largest of the chosen head.
    own = np.abs(concat[:READABLE, head.head * d_k + first :][:, : len(inside)])
    row, column = divmod(int(own.argmax()), len(inside))
    checked_matrix(
        trace,
        f"{head.path}.concat",
        kind=head.attention,
        columns=[f"head {j // d_k + 1}: {j % d_k + 1}" for j in columns],
        only_columns=columns,
        group=len(inside),
        title=f"The heads' results side by side ({where(head)})",
        how_to_read="A row is one piece. Lines divide the heads: what one head took away stands between two of them.",
        describe="“{row}”, {column}: {value}",
        start=(row, head.head * len(inside) + column),
    )
    if len(concat) > READABLE:
        st.caption(f"The first {READABLE} of {len(concat)} pieces.")


def mixed(trace: Trace, head: Head) -> None:
    """What W^O makes of the concatenation."""
    checked_matrix(
        trace,
        f"{head.path}.output",
        kind=head.attention,
        title=f"After W^O ({where(head)})",
        how_to_read="A row is one piece. Every number is mixed from all heads, so no column belongs to one of them.",
        describe="“{row}”, dimension {column}: {value}",
        n_columns=MIXED_COLUMNS,
    )


# --- Do ------------------------------------------------------------------------------------------------------------


def do(trace: Trace) -> None:
    trial = one_of("Try", TRIALS, key="heads_trial", wrap=True)
    {SWITCH_OFF: switch_off, RANKING: ranking, COST: cost}[trial](trace)


def switch_off(trace: Trace) -> None:
    """Any heads off, and what becomes of the translation."""
    st.markdown(
        "Switch off as many heads as you like. What a head takes away becomes 0, for every piece and at every step; "
        "the others go on with what is left. A filled button is a head that is **off**."
    )
    change, problem = read_off()
    if problem:
        st.warning(in_markdown(f"All heads are on, because the address could not be followed: {problem}."))
    choose_off(change.heads_off)
    after = engine.trace(trace.text, interventions=change) if change else None
    if after:
        whole_layers(change, after)
    left, right = st.columns(2, gap="large")
    with left:
        written("All heads on", trace)
    with right:
        if after is None:
            st.info("Switch a head off to fill this side.")
            return
        written(f"{count(len(change.heads_off))} off", after)
    moved(trace, change)


def count(n: int) -> str:
    return f"{n} head" if n == 1 else f"{n} heads"


def choose_off(off: tuple[Head, ...]) -> None:
    """A button for every head, the same layers and heads as in the address."""
    config = engine.machine().config
    layers = [(kind, layer) for kind in KINDS for layer in range(config.n_layers)]

    def collect() -> None:
        write_off(
            tuple(Head(kind, layer, n - 1) for kind, layer in layers for n in st.session_state[f"off/{kind}/{layer}"])
        )

    for column, kind in zip(st.columns(len(KINDS), gap="medium"), KINDS, strict=True):
        with column:
            for layer in range(config.n_layers):
                key = f"off/{kind}/{layer}"
                wanted = [head.head + 1 for head in off if (head.attention, head.layer) == (kind, layer)]
                if st.session_state.get(key) != wanted:
                    st.session_state[key] = wanted
                numbers = range(1, config.n_heads + 1)
                st.pills(
                    f"{KINDS[kind].label}, layer {layer + 1}",
                    numbers,
                    selection_mode="multi",
                    key=key,
                    on_change=collect,
                )
    here = current_head()
    with st.container(horizontal=True, gap="small", key="off_buttons"):
        st.button(
            f"All heads of {where(here)} off",
            key="layer_off",
            help="The attention and the layer chosen in See.",
            on_click=write_off,
            args=((*off, *layer_of(here, config.n_heads)),),
        )
        st.button("All heads on", key="all_on", disabled=not off, on_click=write_off, args=((),))


def whole_layers(change: Interventions, after: Trace) -> None:
    """What it means where no head of a layer is left."""
    n_heads, *_ = sizes(after)
    config, off = engine.machine().config, set(change.heads_off)
    for kind in KINDS:
        empty = [n for n in range(config.n_layers) if off.issuperset(layer_of(Head(kind, n, 0), n_heads))]
        if not empty:
            continue
        largest = max(float(np.abs(after.attention(kind, layer, "output")).max()) for layer in empty)
        *most, last = (str(n + 1) for n in empty)
        layers = f"layers {', '.join(most)} and {last}" if most else f"layer {last}"
        consequence = "In such a layer the pieces pass one another by: each keeps its own vector and learns nothing."
        if len(empty) == config.n_layers:
            consequence = {
                "encoder": "So no English piece ever hears of another: the decoder gets single words and their places.",
                "decoder": "So the decoder knows the last piece that it wrote and its place, but nothing before it.",
                "cross": "So the decoder learns nothing of your sentence: it writes the same after any other.",
            }[kind]
        st.info(
            f"**{KINDS[kind].name}, {layers}: all {n_heads} heads are off.** What comes out of $W^O$ is 0 (its "
            f"largest number is {number(largest)}), and Add & Norm goes on with what came in. {consequence}"
        )


def written(title: str, one: Trace) -> None:
    """A translation, and how likely the model that wrote it found each piece."""
    st.markdown(f"**{title}:** {in_markdown(one.translation) or '(nothing)'}")
    shown = one.labels[:READABLE]
    bars([token.text for token in shown], one.probabilities[:READABLE], f"{title}: probability of each piece written")
    notes = []
    if len(shown) < len(one.labels):
        notes.append(f"The first {READABLE} of {len(one.labels)} pieces.")
    if not one.finished:
        notes.append(f"It did not come to an end and was stopped after {len(one.labels)} pieces.")
    if notes:
        st.caption(" ".join(notes))


def moved(trace: Trace, change: Interventions) -> None:
    """The probability of each piece of the first translation, before and after."""
    before, after = np.array(trace.probabilities), probabilities_with(trace, change)
    names = "with all heads on", f"with {count(len(change.heads_off))} off"
    st.markdown("**How likely each piece of the first translation still is**, given the pieces before it")
    falls, rises = pieces_before_after(trace.labels, before, after, names)
    ratio = float(np.exp(np.log(after).sum() - np.log(before).sum()))
    st.markdown(
        f"It falls for **{falls}** of {len(before)} pieces and rises for **{rises}** (by more than {MOVED}). The whole "
        f"translation, read piece by piece, is **{magnitude(ratio)} times** as likely as before."
    )


def ranking(trace: Trace) -> None:
    """Each head switched off on its own."""
    config = engine.machine().config
    heads = all_heads(config)
    st.markdown(
        f"Each of the {len(heads)} heads is switched off on its own, all others on, and the model reads its first "
        "translation again. How does the translation's log-probability change? (It is the sum of the logarithms of "
        "its pieces' probabilities: −0.69 is half as likely, −2.3 a tenth.)"
    )
    layers = [Head(kind, layer, 0) for kind in KINDS for layer in range(config.n_layers)]
    with st.spinner("Switching off one head after the other"):
        changes = np.concatenate([change_without(trace, layer_of(head, config.n_heads)) for head in layers])
    order = [heads[n] for n in np.argsort(changes, kind="stable")]
    change_of = dict(zip(heads, changes.tolist(), strict=True))
    chosen = chosen_head(order[0])

    # One row a layer; the heads of the three kinds of attention side by side.
    places = [[heads[n] for n in row] for row in by_layer(np.arange(len(heads)), config)]
    at = next((r, c) for r, row in enumerate(places) for c, head in enumerate(row) if head == chosen)

    def look_at(cell: tuple[int, int]) -> None:
        st.query_params[WITHOUT] = str(places[cell[0]][cell[1]])

    matrix(
        by_layer(changes, config),
        [f"layer {n + 1}" for n in range(config.n_layers)],
        [f"{SHORT[head.attention]} {head.head + 1}" for head in places[0]],
        key="ranking",
        title="How the log-probability changes without each head",
        how_to_read="Negative: less likely without it. Each column is a head: of the encoder, of the decoder's masked "
        "self-attention, of encoder-decoder attention. A row is a layer.",
        scale="signed",
        group=config.n_heads,
        selected=at,
        value_names=[[f"{where(head)}, head {head.head + 1}" for head in row] for row in places],
        describe="without {name}: {value}",
        csv_name="change without each head",
        on_select=look_at,
    )
    without_one(trace, chosen, change_of[chosen])
    st.markdown("**The heads that matter most here**")
    # What they do on this sentence is in See. To work it out here too, for other layers, takes as long as the ranking.
    found, _ = measured()
    table(
        (
            "head",
            "change",
            "times as likely",
            *([f"what it does over {found.n_sentences:,} test sentences"] if found else []),
        ),
        [
            (
                f"{KINDS[head.attention].label}, layer {head.layer + 1}, head {head.head + 1}",
                number(change_of[head], 3),
                magnitude(float(np.exp(change_of[head]))),
                *([found.role(head)] if found else []),
            )
            for head in order[:RANKED]
        ],
    )
    better = int((changes > 0).sum())
    st.caption(
        f"Without {better} of the {len(heads)} heads the translation even becomes more likely. A head that hardly "
        "counts here may count in another sentence; and heads can stand in for one another, so that what two of them "
        "do shows only when both are off."
    )


def by_layer(values: Array, config: ModelConfig) -> Array:
    """One number for each head of a model, in the order of `all_heads`, as (layers, kinds of attention · heads)."""
    return values.reshape(len(KINDS), config.n_layers, config.n_heads).transpose(1, 0, 2).reshape(config.n_layers, -1)


def chosen_head(otherwise: Head) -> Head:
    """The head that the ranking looks at, from the address."""
    try:
        head = Head.parse(st.query_params.get(WITHOUT, ""))
        Interventions(heads_off=(head,)).check(engine.machine().config, src_len=1)
    except InterventionError:
        return otherwise
    return head


def without_one(trace: Trace, head: Head, change: float) -> None:
    """What the model writes without one head."""
    after = engine.trace(trace.text, interventions=Interventions(heads_off=(head,)))
    same = after.translation == trace.translation
    st.markdown(
        f"Without **{where(head)}, head {head.head + 1}** (click another cell for another head) the translation is "
        f"{magnitude(float(np.exp(change)))} times as likely. "
        + (
            f"The model still writes it: **{in_markdown(after.translation) or '(nothing)'}**"
            if same
            else f"Instead of **{in_markdown(trace.translation) or '(nothing)'}** the model writes "
            f"**{in_markdown(after.translation) or '(nothing)'}**"
        )
    )


def cost(trace: Trace) -> None:
    """Multiplications of h narrow heads and of one wide one, on this sentence."""
    n_heads, _, d_model = sizes(trace)
    head = current_head()
    rows, columns = tokens_of(trace, head.attention)
    t, s = len(rows), len(columns)
    st.markdown(
        "Do several heads cost more than one? Choose how many heads share the same "
        f"{d_model} numbers. Counted on your sentence, for one layer of the {KINDS[head.attention].name.lower()}: "
        f"{t} rows look at {s} columns."
    )
    h = one_of(
        "Heads", [n for n in (1, 2, 4, 8, 16, 32) if d_model % n == 0], key="n_heads", default=n_heads, wrap=True
    )
    counted = [multiplications(t, s, d_model, n) for n in (h, 1)]
    learned = [sum(p.numel() for p in MultiHeadAttention(d_model, n).parameters()) for n in (h, 1)]
    width = d_model // h
    formulas = {
        "Q, K and V from X": f"({t} + 2 · {s}) · {d_model} · {d_model}",
        "queries times keys": f"{h} · {t} · {s} · {width}",
        "weights times values": f"{h} · {t} · {s} · {width}",
        "mixing by $W^O$": f"{t} · {d_model} · {d_model}",
    }
    markdown_table(
        ("multiplications", f"{count(h)} of {width}", f"1 head of {d_model}"),
        [
            *(
                (step, f"{formula} = {counted[0][step]:,}", f"{counted[1][step]:,}")
                for step, formula in formulas.items()
            ),
            ("**all of them**", *(f"**{sum(steps.values()):,}**" for steps in counted)),
            ("learned numbers in $W^Q, W^K, W^V, W^O$", *(f"{n:,}" for n in learned)),
            ("softmax: e to the power of a score", f"{h} · {t} · {s} = {h * t * s:,}", f"{t * s:,}"),
        ],
    )
    st.caption(
        "The same products, dealt out differently: more heads are narrower in the same measure. Only the softmax has "
        "more to do, one row for each head, and that is little beside the rest. What more heads buy is more than one "
        "pattern; what they cost is width: each compares pieces by fewer numbers."
    )


def multiplications(t: int, s: int, d_model: int, h: int) -> dict[str, int]:
    """Of T rows that look at S columns with h heads, step by step."""
    d_k = d_model // h
    return {
        "Q, K and V from X": (t + 2 * s) * d_model * d_model,
        "queries times keys": h * t * s * d_k,
        "weights times values": h * t * s * d_k,
        "mixing by $W^O$": t * d_model * d_model,
    }


# --- Predict -------------------------------------------------------------------------------------------------------


def predict(trace: Trace) -> Sequence[Question]:
    n_heads, d_k, d_model = sizes(trace)
    head = current_head()
    previous = [found["previous"] for found in shares_here(trace, "encoder", head.layer)[0]]
    of_layer = layer_of(head, n_heads)
    changes = change_without(trace, of_layer)
    worst = int(changes.argmin())
    names = tuple(f"head {n + 1}" for n in range(n_heads))
    learned = [sum(p.numel() for p in MultiHeadAttention(d_model, n).parameters()) for n in (n_heads, 2 * n_heads)]
    t = len(trace.src)
    totals = [sum(multiplications(t, t, d_model, n).values()) for n in (n_heads, 2 * n_heads)]
    answers = "Both double.", "Both stay the same.", "Both halve.", "The learned numbers stay, the work doubles."
    by = learned[1] / learned[0], totals[1] / totals[0]
    return (
        Question(
            "previous",
            f"In layer {head.layer + 1} of the encoder, on this sentence: which head gives most of its weight to the "
            "piece just before?",
            names,
            frozenset({int(np.argmax(previous))}),
            "Averaged over the rows it is "
            + ", ".join(f"{number(share)} in {name}" for share, name in zip(previous, names, strict=True))
            + ". In a map that is the line just below the diagonal.",
        ),
        Question(
            "more",
            f"We give a layer {2 * n_heads} heads of {d_k // 2} instead of {n_heads} of {d_k}. What becomes of the "
            "numbers it has to learn, and of its multiplications?",
            answers,
            frozenset({{(2, 2): 0, (1, 1): 1, (0.5, 0.5): 2, (1, 2): 3}[by]}),
            f"It learns {learned[0]:,} numbers before and {learned[1]:,} after, and multiplies {totals[0]:,} times "
            f"before and {totals[1]:,} after (in the encoder, on your sentence). Twice as many heads are half as wide.",
        ),
        Question(
            "matters",
            f"The {where(head)}: without which of its heads does the translation of this sentence become least likely?",
            names,
            frozenset({worst}),
            "Its log-probability changes by "
            + ", ".join(f"{number(float(c), 3)} without {name}" for c, name in zip(changes, names, strict=True))
            + ". Large shares on one place are no sure sign of importance: compare with the labels above.",
        ),
    )


show_lesson(
    "multi-head",
    idea=idea,
    choose=choose,
    see=see,
    do=do,
    check=check_cell,
    predict=predict,
    code=(MultiHeadAttention, shares, places, role, aligned_words, log_probabilities_without),
)
