"""Lesson: how little a decoder can keep of each piece, and attention that never holds its row of scores whole."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from experiments.attention.cache_size import PUBLISHED, kept_by, of_kinds
from experiments.attention.latent import (
    SIZES,
    WHOLE,
    Beginning,
    NarrowAttention,
    at_sizes,
    basis_of,
    figures,
    perplexities,
    squeezed_pass,
    through,
)
from experiments.attention.tiles import Running, attention_in_tiles
from experiments.training.siblings import DIFFERS
from model.files.loaded_model import TRANSLATOR, Array
from model.trace import Trace
from pages.family.gpt.reading import gpt, perplexity, read, unsure
from pages.family_models import GPT
from ui import engine
from ui.components.matrix import Caption
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Row, Scene
from ui.components.scene.answer import quoted
from ui.controls.control import Choice, Stops
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import chance, in_markdown, magnitude, number, piece
from ui.views import siblings
from ui.views.attention_kinds import READABLE
from ui.views.before_after import if_anew
from ui.views.charts.bars import bars
from ui.views.charts.tables import table

STOPS = (WHOLE, 128, 64, 32, 16, 8)  # of the scene
KEPT = Stops("Numbers kept of each piece in a layer, r", "kept", SIZES, default=64)
INSIDE = {
    "the numbers kept": ("squeezed", "A row for each piece that the decoder has read: all that is kept of it."),
    "keys made from them": ("k", "A row for each piece: its key, made from the numbers kept of it."),
}
TENSOR = Choice("What to work out", "inside", tuple(INSIDE))
PATH, FIRST = "decoder.layers.{}.self_attn", "encoder.layers.0.self_attn"
BYTES = 4  # of a number in this model
DRAWN, CELL, ACROSS = 8, 8, 3  # of the scene: pieces; numbers of which a cell shows the first; cells side by side
COLUMNS = 8  # of See
MOST_TILES, LISTED, CUT = 8, 3, 80  # LISTED: scores of a tile; CUT: signs of the translation
TILES = Stops("Tiles read", "tiles", tuple(range(1, MOST_TILES + 1)), default=2)
FAR = 100_000


def of_translator(trace: Trace) -> Trace:
    """The sentence through the translator, whatever model the address names: the bases are the translator's."""
    return trace if trace.model.name == TRANSLATOR else engine.trace(trace.text)


def squeezed(trace: Trace, r: int) -> Trace:
    """The sentence and its translation, read by the decoder that keeps r numbers."""
    if r == WHOLE:
        return trace
    other, tensors = engine.run(squeezed_pass, trace.model, r, trace.src_ids, trace.tgt_ids)
    return replace(trace, model=other, tensors=tensors)


def kept_bytes(trace: Trace, r: int) -> int:
    """Of a piece, in all layers."""
    return BYTES * r * trace.model.config.n_layers


def scene(trace: Trace) -> Scene:
    """The columns of the pieces read, squeezed; it opens where the translation first becomes another, or at the end."""
    trace = of_translator(trace)
    read = engine.run(at_sizes, trace.model, STOPS[1:], trace.src_ids, trace.label_ids)
    written = {r: if_anew(trace, one.ids) for r, one in read.items()}
    changed = (n for n, r in enumerate(STOPS) if written.get(r))
    return Scene(
        "The decoder's memory: what its last layer keeps of each piece read. That is a key and a value, or r numbers "
        "that make both anew. Nothing is trained for it.",
        "Numbers kept of each piece in a layer, r",
        [scene_frame(trace, r, read.get(r), written.get(r, "")) for r in STOPS],
        by="slider",
        start=next(changed, len(STOPS) - 1),
        wide=(1.2, 1),
        plays=True,
    )


def scene_frame(trace: Trace, r: int, read: Beginning | None, written: str) -> Frame:
    """read: through r numbers; without it the decoder is untouched"""
    path, every, now = PATH.format(trace.model.config.n_layers - 1), kept_bytes(trace, WHOLE), kept_bytes(trace, r)
    if read is None:
        kept, text = keys_and_values(trace, path), trace.translation
        text = text if len(text) <= CUT else f"{text[:CUT]}…"
        answer = f"A key and a value are **{r}** numbers, **{every:,} bytes** a piece in all layers. It writes "
        answer += f"“{quoted(text)}”"
    else:
        kept, measured = read.kept, figures(TRANSLATOR)
        share, n = measured[str(r)], measured["sentences"]
        writes = f"“{quoted(cut(written))}”" if written else "the same."
        answer = f"**{r}** of {WHOLE} numbers: **{now:,} bytes** a piece in place of {every:,}. It writes {writes} Of "
        answer += f"{n} other translations **{share['same_sentences']:.1%}** stay the same, of next pieces "
        answer += f"{share['same']:.1%}."
    cards = [Card(token.text, column=kept[t, ::CELL].tolist()) for t, token in enumerate(trace.tgt[:DRAWN])]
    before = trace.probabilities
    p, likeliest = before, trace.tensors["logits"][:DRAWN].argmax(-1).tolist()
    if read:
        p, likeliest = read.chances, read.likeliest
    probable = [
        Bar(one.text, p[t], chance(p[t]), before[t], likeliest[t] != one.id)
        for t, one in enumerate(trace.labels[:DRAWN])
    ]
    limit = float(np.abs(trace.tensors[f"{path}.k"]).max())
    tall = -(-r // CELL // ACROSS), -(-WHOLE // CELL // ACROSS)
    columns = Cards([Row(cards)], title=f"{r} numbers a piece: a cell for every {CELL}", limit=limit, tall=tall)
    memory = Bars([Bar("kept", now / every, f"{now:,}", 1.0, strong=True)], "Bytes a piece in all layers", "key")
    return Frame(str(r), answer, [[columns, Bars(probable, "Probability of its pieces (dashed: untouched)")], [memory]])


def cut(written: str) -> str:
    """What is written, up to where it becomes another; of a long text the end, where that is."""
    return piece(written if len(written) <= CUT else f"…{written[-CUT:]}")


def keys_and_values(reading: Trace, path: str) -> Array:
    """(T,2d): those of all heads side by side."""
    return np.concatenate([head for one in "kv" for head in reading.tensors[f"{path}.{one}"]], axis=1)


def idea(trace: Trace) -> None:
    st.markdown(
        "To write the next piece, a decoder needs the keys and values of all pieces before it. It keeps them, in the "
        "*KV cache*, which grows with the text. Three ways keep less: heads share keys and values in groups "
        "(**GQA**), all heads share one (**MQA**), or both are made anew from one short row, a *latent* (**MLA**)."
    )
    with st.expander("How the r numbers are found"):
        st.markdown(
            "Row x of the layer's input makes both: [k, v] = xW. Over many texts, the singular value decomposition "
            "(SVD) finds the r directions B along which [k, v] is longest; σ brings keys and values to one scale."
        )
        st.latex(r"c = B^T\,[k/\sigma_k,\ v/\sigma_v],\qquad [k, v] \approx [\sigma_k, \sigma_v]\odot Bc")
        st.markdown("MLA learns these matrices in training, with all others. Here they are put in afterwards.")


def see(trace: Trace) -> Shown:
    trace = of_translator(trace)
    r, (name, how) = KEPT.draw(), INSIDE[TENSOR.draw()]
    other, n = squeezed(trace, r), trace.model.config.n_layers
    path, head, more = PATH.format(n - 1), *((0, ", head 1") if name == "k" else (None, ""))
    caption = Caption(f"r = {r}: {TENSOR.value()}, layer {n}{more}", how)
    shown = checked_matrix(other, f"{path}.{name}", caption, head=head, part=Part(n_columns=COLUMNS))
    whole = keys_and_values(trace, path)
    away = float(np.linalg.norm(keys_and_values(other, path) - whole) / np.linalg.norm(whole))
    st.caption(
        f"Keys and values of this layer lie **{away:.1%}** of their length away from those untouched. The "
        f"{len(trace.tgt)} pieces take {len(trace.tgt) * kept_bytes(trace, r):,} bytes in place of "
        f"{len(trace.tgt) * kept_bytes(trace, WHOLE):,}."
    )
    return shown


def squeezing(trace: Trace) -> None:
    of_pairs, of_books = figures(TRANSLATOR), figures(GPT)
    st.markdown(
        f"**How much can be squeezed?** The translator on {of_pairs['tokens']:,} pieces and {of_pairs['sentences']} "
        f"sentences that it never saw; GPT on {of_books['tokens']:,} pieces of books, and on your text."
    )
    whole, lines = read(trace), []
    of_text = perplexity(whole), *engine.run(perplexities, gpt(), whole.label_ids)
    for r, yours in zip((WHOLE, *SIZES), of_text, strict=True):
        pairs, books = of_pairs[str(r)], of_books[str(r)]
        shares = f"{pairs['same']:.1%}", f"{pairs['same_sentences']:.1%}"
        lines.append((str(r), f"{kept_bytes(trace, r):,}", *shares, number(books["perplexity"], 1), unsure(yours)))
    head = ("r", "bytes a piece", "same next piece", "same translation", "GPT's perplexity", "of your text")
    table(head, lines)
    d = trace.model.config.d_model
    st.caption(
        f"At r = {d} only rounding is lost: a key and a value are both made from one row of {d} numbers. "
        "*Perplexity*: as unsure as among so many pieces."
    )


def sizes(trace: Trace) -> None:
    st.markdown("**What does each kind keep?** Counted from the sizes of this translator and of published models.")
    config = trace.model.config
    ours = of_kinds(config.n_layers, config.n_heads, config.d_model // config.n_heads, BYTES)
    lines = []
    for one in (*ours, *PUBLISHED):
        far = f"{one.n_bytes * FAR / 1e9:.2f} GB"
        lines.append((one.kind, one.model, f"{one.numbers:,}", str(one.layers), f"{one.n_bytes:,}", far))
    table(("kind", "model", "numbers in a layer", "layers", "bytes a piece", f"{FAR:,} pieces"), lines)
    st.caption(
        f"A number takes {BYTES} bytes in this model, 2 in the published ones. This translator is of the kind MHA: all "
        "heads have keys and values of their own. The next three lines say what it would keep otherwise: GQA with 2 "
        "groups, MLA with DeepSeek-V2's shares, a row of 4 heads' keys and half a key that positions turn. "
        "With 128 heads DeepSeek-V2 would keep 32,768 numbers in a layer as MHA."
    )


def trained(trace: Trace) -> None:
    st.markdown(
        "**What if it learns so from the start?** Small translators, trained by one recipe. They differ in how a text "
        "attends to itself, in both stacks."
    )
    kinds = [name for name in siblings.names() if name == "plain-1" or name.startswith("attention-")]
    kept = {name: engine.run(kept_by, engine.model(name)) for name in kinds}
    lines = [(name, DIFFERS[name], f"{n:,}") for name, n in sorted(kept.items(), key=lambda one: -one[1])]
    table(("sibling", "its attention", "bytes that its decoder keeps of a piece"), lines)
    st.caption(
        "Measured on a cache while two pieces are read. In MLA positions turn a short key beside the row: that alone "
        "may change how well it learns. *positions-rotary*, of *Positions, six ways*, turns whole keys."
    )
    siblings.two_siblings(trace, "attention")


def running(trace: Trace) -> tuple[int, int, int, list[Running]]:
    """Of the encoder's first layer, the head and the row whose largest score rises most often; the size of a tile; and
    what is kept after each. A rise by more than 1 counts as one of 1.
    """
    scores, values = (trace.tensors[f"{FIRST}.{one}"] for one in ("scores", "v"))
    n = scores.shape[-1]
    size = max(2, -(-n // MOST_TILES))
    largest = np.maximum.accumulate(np.maximum.reduceat(scores, range(0, n, size), axis=-1), axis=-1)
    rises = np.minimum(np.diff(largest, axis=-1), 1).sum(-1)  # (H,T)
    head, row = divmod(int(rises.argmax()), n)
    return head, row, size, list(attention_in_tiles(scores[head, row].astype(float), values[head].astype(float), size))


def tiles(trace: Trace) -> None:
    head, row, size, states = running(trace)
    word = in_markdown(trace.src[row].text)
    st.markdown(
        f"**Can it be exact without holding the row?** *FlashAttention* reads keys and values in tiles and keeps the "
        f"largest score m, the sum ℓ and the output o. Here tiles of {size} pieces, as “{word}” asks them in layer 1, "
        f"head {head + 1}."
    )
    n = min(TILES.draw(), len(states))
    (scores, softmax), lines = (trace.tensors[f"{FIRST}.{one}"][head, row] for one in ("scores", "heads")), []
    for t, state in enumerate(states[:n]):
        tile = scores[t * size : (t + 1) * size]
        some = ", ".join(number(float(score), 2) for score in tile[:LISTED]) + ", …" * (len(tile) > LISTED)
        away = magnitude(float(np.abs(state.output - softmax).max()))
        kept = number(state.largest, 2), number(state.correction), number(state.total), number(float(state.output[0]))
        lines.append((str(t + 1), some, *kept, away))
    last = states[n - 1]
    shares = np.where(np.arange(len(scores)) < n * size, np.exp(scores - last.largest) / last.total, 0)
    bars([token.text for token in trace.src[:READABLE]], shares[:READABLE].tolist(), "Share of each piece so far")
    table(("tile", "its scores", "m", "e^(m before − m)", "ℓ", "first number of o", "furthest from softmax's"), lines)
    st.caption(
        f"Tiles read: {n} of {len(states)}. A bar is a piece's share so far, e^(score − m)/ℓ. When a larger score "
        "comes, what was kept shrinks by e^(m before − m). "
        "After the last tile o is what softmax over the whole row gives, but for rounding. So the square of all scores "
        "is never held: that saves memory, and the time to write and read it, not multiplications."
    )


TRIALS = {
    "What each kind keeps": sizes,
    "Squeeze it": squeezing,
    "Trained so": trained,
    "Exact, in tiles": tiles,
}
TRIAL = Choice("Try", "memory_trial", tuple(TRIALS))


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](of_translator(trace))


def predict(trace: Trace) -> Sequence[Question]:
    trace = of_translator(trace)
    n, config = len(trace.tgt), trace.model.config
    one, many, d = kept_bytes(trace, WHOLE), n * kept_bytes(trace, WHOLE), config.d_model
    half = figures(TRANSLATOR)[str(d // 2)]["same"]
    return (
        Question(
            "cache",
            f"The decoder reads {n} pieces of your translation. A key and a value of each are {WHOLE} numbers of "
            f"{BYTES} bytes, in {config.n_layers} layers. How many bytes is that?",
            (f"{BYTES * n * WHOLE:,}", f"{many:,}", f"{many * n:,}"),
            frozenset({1}),
            f"{one:,} bytes a piece, {n} times: {many:,}.",
            wrong={
                0: "That is one layer's.",
                2: "Only scores are counted for each pair: keys and values are kept for each piece.",
            },
        ),
        Question(
            "half",
            f"A key and a value together are {WHOLE} numbers. Both are made from one row of {d}. How few numbers are "
            "enough, so that nothing is lost?",
            (str(d // 2), str(d), str(WHOLE)),
            frozenset({1}),
            f"The row itself: {d} numbers, from which both can be made anew. With {d // 2}, "
            f"{half:.1%} of the next pieces stay the same.",
            wrong={0: "That loses something, if little.", 2: "It works, but the row that makes both is shorter."},
        ),
    )


LESSON = Lesson(
    "smaller-memory",
    "A smaller memory",
    asks="How little must it keep of each piece?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(basis_of, through, NarrowAttention, attention_in_tiles),
    on_map=OnMap(pictured=("translator", lambda: [engine.model()]), scene=scene),
)
