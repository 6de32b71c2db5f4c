"""Lesson: the decoder asks, the encoder's output answers. The map between them, and how far it is an alignment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from figures.grouping import Group, grouped, pieces
from model.attention import MultiHeadAttention
from model.interventions import Head
from model.layers import DecoderLayer
from model.tokenizer import EOS, normalise
from model.trace import MAX_TOKENS, Array, Trace
from ui import engine, experiments
from ui.address import read_pair, write_pair
from ui.attention import KINDS, READABLE, groups_of, head_title, n_layers, readable_part, tokens_of
from ui.bars import bars
from ui.check import check_cell, checked_matrix
from ui.choose import choose_head, choose_part, current_head
from ui.compare import before_after
from ui.components.head_grid import MEAN, head_grid
from ui.components.matrix import matrix
from ui.course import show_lesson
from ui.notices import MAX_CHARS
from ui.one_of import one_of
from ui.quiz import Question
from ui.sentence import KEY as SENTENCE
from ui.steps import show_steps
from ui.tables import table
from ui.text import in_markdown, magnitude, number
from ui.worked import WorkedStep, output_of, worked_average, worked_group

KIND = "cross"
ONE, LAYER, ALL = VIEWS = "One head", "Layer average", "Full average"
NEEDED = 0.05  # a piece needs a word without which its probability falls by so much
VIEW, WORDS, GERMAN = "view", "by_word", "german"  # keys of the controls, and of their parameters in the address

# Sentences whose German goes another way, under a short label.
ORDERS = {
    "Verb at the end": "I know that he is tired.",
    "Verb in two parts": "I'm calling my mother.",
    "Participle at the end": "I have never seen such a beautiful house.",
    "Time before place": "She will visit her grandmother in Berlin tomorrow.",
}
# An English sentence and German that the model would not have written, under a short label.
PAIRS = {
    "Another tense": ("I ate an apple", "Ich aß einen Apfel."),
    "Another order": ("He wants to learn German this summer.", "Diesen Sommer will er Deutsch lernen."),
    "A wrong translation": ("I ate an apple", "Das Haus ist rot."),
    "French": ("I ate an apple", "J'ai mangé une pomme."),
}


@dataclass(frozen=True)
class View:
    """What is looked at: one head, or an average that it belongs to; pieces, or words."""

    head: Head
    which: str
    by_word: bool

    @property
    def title(self) -> str:
        if self.which == LAYER:
            return f"average of the heads of layer {self.head.layer + 1}"
        if self.which == ALL:
            return "average of the heads of all layers"
        return f"layer {self.head.layer + 1}, head {self.head.head + 1}"

    @property
    def tensor(self) -> str:
        """Name of the tensor that holds it."""
        if self.which == ALL:
            return "decoder.cross_attn.average"
        return f"{self.head.path}.{'average' if self.which == LAYER else 'weights'}"

    def parts(self, weights: Array) -> dict[str, Array]:
        """The maps (T,S) that are averaged, by name, of weights (L,H,T,S); one head is by itself."""
        if self.which == LAYER:
            return {f"head {h + 1}": one for h, one in enumerate(weights[self.head.layer])}
        if self.which == ALL:
            return {f"the average of layer {n + 1}": layer.mean(0) for n, layer in enumerate(weights)}
        return {"": weights[self.head.layer, self.head.head]}

    def groups(self, trace: Trace) -> tuple[list[Group], list[Group]]:
        """What the rows and the columns stand for."""
        rows, columns = (groups_of(tokens, self.by_word) for tokens in tokens_of(trace, KIND))
        return rows, columns

    def by_pieces(self, trace: Trace, weights: Array | None = None) -> Array:
        """The map (T,S) of a trace, or of other weights (L,H,T,S) between the same pieces."""
        return np.mean(list(self.parts(all_weights(trace) if weights is None else weights).values()), axis=0)

    def values(self, trace: Trace, weights: Array | None = None) -> Array:
        """The map between what the rows and the columns stand for."""
        return grouped(self.by_pieces(trace, weights), *self.groups(trace))


def all_weights(trace: Trace) -> Array:
    """The encoder-decoder attention of every layer and head (L,H,T,S)."""
    return np.stack([trace.attention(KIND, layer) for layer in range(n_layers(trace))])


def current_view() -> View:
    """The view that See is set to, also where its controls are not on the page (presenter mode)."""
    which = st.session_state.get(VIEW) or st.query_params.get(VIEW)
    by_word = st.session_state.get(WORDS, st.query_params.get(WORDS) == "true")
    return View(current_head(KIND, (KIND,)), which if which in VIEWS else ONE, bool(by_word))


def put(sentence: str, german: str) -> None:
    st.session_state[SENTENCE], st.session_state[GERMAN] = sentence, german
    write_pair("cell", None)


def offer(label: str, sentence: str, german: str = "") -> None:
    """A button that puts an English sentence into the bar, and German into its box."""
    if st.button(label, key=f"offer_{label}", help=german or sentence, on_click=put, args=(sentence, german)):
        st.rerun()  # the whole page: the sentence bar too


def idea(trace: Trace) -> None:
    st.markdown(
        "This is where the two languages meet. Whatever the decoder is about to write, it asks with its "
        ":blue[**query**]; the :orange[**keys**] and :green[**values**] that answer are made from the English side: "
        "from M, the *final* output of the encoder, called the **memory**. Every decoder layer reads this same memory, "
        "with matrices of its own."
    )
    st.latex(
        r"\operatorname{Attention}(X,M)=\operatorname{softmax}\!\left("
        r"\frac{XW^Q\,(MW^K)^{\mathsf T}}{\sqrt{d_k}}\right)MW^V"
    )
    st.markdown("German often puts its words in another order. Four sentences in which it does:")
    with st.container(horizontal=True, gap="small", key="word_orders"):
        for label, sentence in ORDERS.items():
            offer(label, sentence)


def _choose(chosen: tuple[int, int]) -> None:
    """A click in the overview sets the same controls as a click on them."""
    layer, head = chosen
    st.session_state["layer"], st.session_state[VIEW] = layer + 1, LAYER if head == MEAN else ONE
    if head != MEAN:
        st.session_state["head"] = head + 1


def choose(trace: Trace) -> None:
    choose_head((KIND,), KIND)
    one_of("Show", VIEWS, key=VIEW, wrap=True)
    st.toggle("Whole words", key=WORDS, bind="query-params")


def see(trace: Trace) -> None:
    view = current_view()
    head, which = view.head, view.which
    head_grid(
        all_weights(trace)[:, :, :READABLE, :READABLE],
        key="cross_heads",
        selected={ONE: (head.layer, head.head), LAYER: (head.layer, MEAN)}.get(which),
        title="Every layer and head: click one to see it large",
        on_select=_choose,
    )
    title, how_to_read = f"{KINDS[KIND].title} ({view.title})", KINDS[KIND].how_to_read
    if view.by_word:
        cell = words_map(trace, view, title)
    else:
        cell = checked_matrix(
            trace,
            view.tensor,
            head=head.head if which == ONE else None,
            kind=KIND,
            title=title,
            how_to_read=how_to_read,
            start=first_cell(trace, view),
        ).cell
    what_it_shows(trace, view, cell[0])
    q, k = trace.attention(KIND, head.layer, "q"), trace.attention(KIND, head.layer, "k")
    st.caption(
        f"Shapes: Q `{q.shape}` from the decoder; K and V `{k.shape}` from the encoder; weights "
        f"`{(*q.shape[:2], k.shape[1])}`, a row a German piece, a column an English one. No causal mask here: at every "
        "step the whole English sentence may be seen."
    )


def readable(trace: Trace, view: View) -> tuple[list[Group], list[Group]]:
    """As many rows and columns as can be read."""
    rows, columns = view.groups(trace)
    return rows[:READABLE], columns[:READABLE]


def first_cell(trace: Trace, view: View) -> tuple[int, int]:
    """The largest weight between words, or pieces of words; of all, if there is none."""
    rows, columns = ([is_word(group.label) for group in groups] for groups in readable(trace, view))
    values = view.values(trace)[: len(rows), : len(columns)]
    row, column = divmod(int((values + np.outer(rows, columns)).argmax()), len(columns))
    return row, column


def chosen_word(trace: Trace, view: View) -> tuple[int, int]:
    """The cell chosen in the map between words."""
    rows, columns = readable(trace, view)
    return read_pair("cell", (len(rows), len(columns)), first_cell(trace, view))


def words_map(trace: Trace, view: View, title: str) -> tuple[int, int]:
    """The map between words; returns the cell chosen."""
    rows, columns = readable(trace, view)
    values, cell = view.values(trace), chosen_word(trace, view)
    shown = values[: len(rows), : len(columns)]
    matrix(
        shown,
        [group.label for group in rows],
        [group.label for group in columns],
        key="see_words",
        title=title,
        how_to_read="A row is one German word, the mean of its pieces; what an English word's pieces get is added up.",
        describe=KINDS[KIND].describe,
        selected=cell,
        csv_name=f"words {view.title}",
        on_select=lambda chosen: write_pair("cell", chosen),
    )
    if shown.shape != values.shape:
        st.caption(readable_part(shown.shape, values.shape))
    return cell


def is_word(label: str) -> bool:
    """Whether a piece or word has a letter or a digit: no special token, no punctuation."""
    return label != EOS and any(sign.isalnum() for sign in label)


def what_it_shows(trace: Trace, view: View, row: int) -> None:
    """The chosen row in words, and how often the largest weight cannot be a translation."""
    rows, columns = view.groups(trace)
    values = view.values(trace)
    best = [j for j in np.argsort(-values[row], kind="stable")[:3] if values[row, j] >= 0.005]
    looked = ", ".join(
        f"**{in_markdown(columns[j].label)}** (column {j + 1}) {number(float(values[row, j]), 2)}" for j in best
    )
    st.markdown(f"Row {row + 1}: before writing **{in_markdown(rows[row].label)}**, it looks most at {looked}.")
    told = [i for i, group in enumerate(rows) if is_word(group.label)]
    lost = [i for i in told if not is_word(columns[int(values[i].argmax())].label)]
    what = "words" if view.by_word else "pieces of words"
    st.markdown(
        f"**Is this an alignment?** {len(lost)} of {len(told)} German {what} have their largest weight on "
        f"{in_markdown(EOS)} or on a punctuation mark, which they surely do not translate. A weight says where the "
        "model reads, not what a word means; and the vector that it reads there already holds something of the other "
        "words."
    )


def check(trace: Trace) -> None:
    view = current_view()
    if not view.by_word:
        check_cell(trace)
        return
    cell = chosen_word(trace, view)
    row, column = (groups[i] for groups, i in zip(view.groups(trace), cell, strict=True))
    step = worked_words(trace, view, row, column)
    st.markdown(
        f"**How did this {number(step.value)} come about?** Row **{in_markdown(row.label)}**, column "
        f"**{in_markdown(column.label)}**. Choose another cell by a click, or with the arrow keys and Enter."
    )
    show_steps([step])
    st.caption(
        "Switch *Whole words* off to see how a weight comes from a query and a key. Numbers are shown rounded and were "
        "computed unrounded."
    )


def worked_words(trace: Trace, view: View, row: Group, column: Group) -> WorkedStep:
    """How a weight between two words came about."""
    parts = view.parts(all_weights(trace))
    if view.which == ONE:
        return worked_group(parts[""], row, column)
    values = [float(grouped(one, [row], [column])[0, 0]) for one in parts.values()]
    return worked_average(values, list(parts), float(np.mean(values)))


def do(trace: Trace) -> None:
    trials = {"Write the German yourself": own, "Hide an English word": hide, "Change the memory": memory}
    trials[one_of("Try", list(trials), key="cross_trial", wrap=True)](trace, current_view())


def own(trace: Trace, view: View) -> None:
    """The learner's own target, read by teacher forcing, beside the model's translation."""
    st.markdown(
        "Put other German into the decoder's mouth. It reads your sentence piece by piece, as in training (*teacher "
        "forcing*); at each piece you see where it looks, and how likely it found just this piece."
    )
    with st.container(horizontal=True, gap="small", key="pairs"):
        for label, (english, german) in PAIRS.items():
            offer(label, english, german)
    typed = st.text_input(
        "Your own German sentence", key=GERMAN, bind="query-params", live="300ms",
        placeholder="Leave it empty for the model's translation",
    )  # fmt: skip
    text = normalise((typed or "")[:MAX_CHARS])
    after = engine.trace(trace.text, text) if text else None
    sides = (("before", trace, "The model's translation"), ("after", after, "Your German"))
    for column, (side, one, title) in zip(st.columns(2, gap="large"), sides, strict=True):
        with column:
            if one is None:
                st.info("Type a German sentence, or choose one above, to fill this side.")
            else:
                read(one, view, side, title)
    if after is not None:
        verdict(after)
        if len(engine.machine().tokenizer.encode(text)) > MAX_TOKENS:
            st.caption(f"Your German is longer than the model can take: only its first {MAX_TOKENS} pieces are read.")


def read(trace: Trace, view: View, side: str, title: str) -> None:
    """Where the decoder looks while it reads this target, and the probability of each piece."""
    rows, columns = readable(trace, view)
    matrix(
        view.values(trace)[: len(rows), : len(columns)],
        [group.label for group in rows],
        [group.label for group in columns],
        key=f"do_{side}",
        title=title,
        how_to_read=f"{in_sentence(view)}; 0 to 1 on both sides.",
        describe=KINDS[KIND].describe,
        csv_name=f"weights {title}",
    )
    st.markdown("**How likely the model finds each piece, after those before it**")
    shown = trace.labels[:READABLE]
    bars([token.text for token in shown], trace.probabilities[:READABLE], f"Probability of each piece: {title}")
    if len(trace.labels) > READABLE:
        st.caption(f"Shown: the first {READABLE} of {len(trace.labels)} pieces.")


def in_sentence(view: View) -> str:
    return head_title(KIND, view.head.layer, view.head.head) if view.which == ONE else view.title.capitalize()


def verdict(trace: Trace) -> None:
    """What the probabilities of the learner's German say, in a sentence, and what the model would have written."""
    given = np.array(trace.probabilities)
    probabilities = engine.numbers(trace)["probabilities"]
    first = probabilities.argmax(-1)
    agreed = int(sum(token.id == best for token, best in zip(trace.labels, first, strict=True)))
    mean = float(np.exp(np.log(np.maximum(given, np.finfo(float).tiny)).mean()))
    says = (
        "To the model this is a likely translation."
        if mean >= 0.5
        else "The model would have put it differently, but it can follow: after an unexpected piece, the next ones are "
        "likely again."
        if mean >= 0.02
        else "The model does not take this for a translation of your sentence: another meaning, another language, or "
        "an order that it never met. It still looks somewhere, since every row must share out a weight of 1; but that "
        "is no alignment."
    )
    st.markdown(
        f"A piece of your German has a probability of **{magnitude(mean)}** on average (the geometric mean), all of it "
        f"together **{magnitude(float(given.prod()))}**; **{agreed} of {len(given)}** pieces are what the model would "
        f"have written there itself. {says}"
    )
    tokenizer = engine.machine().tokenizer
    with st.expander("What the model would rather have written, piece by piece"):
        table(
            ("your piece", "its probability", "the likeliest piece", "its probability"),
            [
                (
                    token.text,
                    number(float(p)),
                    tokenizer.tokens([int(best)])[0].text,
                    number(float(row[best])),
                )
                for token, p, row, best in zip(trace.labels[:READABLE], given, probabilities, first, strict=False)
            ],
        )


def source_words(trace: Trace) -> list[Group]:
    """The words and marks of the English sentence, without <eos>."""
    return [group for group in groups_of(trace.src, by_word=True) if trace.src[group.pieces[0]].word >= 0]


def hide(trace: Trace, view: View) -> None:
    """One English word hidden from everybody: what the model writes now, and which German pieces suffer."""
    st.markdown(
        "What a German piece *needs* can be found out: hide an English word from both stacks, let the model read the "
        "same translation again, and see which of its pieces become unlikely."
    )
    words = source_words(trace)
    chosen = choose_part("Word to hide", [word.label for word in words], min(1, len(words) - 1), trace.text)
    with st.spinner("Hiding every word in turn …"):
        _, probabilities = experiments.words_hidden(trace.src, trace.labels)
    name, before, after = in_markdown(words[chosen].label), probabilities[0], probabilities[chosen + 1]
    written = experiments.written_without(tuple(token.id for token in trace.src), words[chosen].pieces)
    st.markdown(
        f"Translation before: **{in_markdown(trace.translation) or '(nothing)'}** Written without {name}: "
        f"**{in_markdown(written) or '(nothing)'}**"
    )
    shown = [token.text for token in trace.labels[:READABLE]]
    matrix(
        np.stack([before, after])[:, :READABLE],
        ("all words seen", "word hidden"),
        shown,
        key="do_hidden",
        title="The probability of each piece of the first translation",
        how_to_read=f"Above: every word may be seen. Below: “{words[chosen].label}” is hidden.",
        describe="“{column}”, {row}: {value}",
        csv_name="probabilities",
    )
    if len(shown) < len(trace.labels):
        st.caption(f"Shown: the first {READABLE} of {len(trace.labels)} pieces.")
    hurt = int((before - after).argmax())
    st.markdown(
        f"Without **{name}**, **{in_markdown(trace.labels[hurt].text)}** (piece {hurt + 1}) loses most: from "
        f"{magnitude(float(before[hurt]))} to {magnitude(float(after[hurt]))}."
        if before[hurt] - after[hurt] >= NEEDED
        else f"No piece needs **{name}**: none of the probabilities falls by {NEEDED} or more."
    )
    looking_and_needing(trace, view, words, before - probabilities[1:])


def looking_and_needing(trace: Trace, view: View, words: list[Group], falls: Array) -> None:
    """Where each German piece looks beside what it loses (N,T) when a word is hidden, for every word in turn."""
    looks = view.by_pieces(trace)
    needs = falls.T
    labels = [token.text for token in trace.labels]
    maps = (
        (
            "looks",
            "Where it looks",
            f"{in_sentence(view)}; weights from 0 to 1.",
            grouped(looks, pieces(labels), words),
        ),
        ("needs", "What it needs", "How much less likely the row's piece gets without the column's word.", needs),
    )
    st.subheader("Every word hidden in turn", anchor=False)
    for column, (key, title, how_to_read, values) in zip(st.columns(2, gap="medium"), maps, strict=True):
        shown = values[:READABLE, :READABLE]
        with column:
            matrix(
                shown, labels[:READABLE], [word.label for word in words[:READABLE]], key=f"do_{key}", title=title,
                how_to_read=how_to_read, describe=f"“{{row}}” {key} “{{column}}”: {{value}}", csv_name=title,
            )  # fmt: skip
    if shown.shape != needs.shape:
        st.caption(readable_part(shown.shape, needs.shape))
    # The word of each source piece, <eos> having none: looking there is looking at no word.
    looked, needed = [trace.src[j].word for j in looks.argmax(-1)], needs.argmax(-1)
    told = [i for i, label in enumerate(labels) if is_word(label) and needs[i, needed[i]] >= NEEDED]
    other = [i for i in told if looked[i] != trace.src[words[needed[i]].pieces[0]].word]
    says = f"**{len(told) - len(other)} of {len(told)}** pieces of words look most at the word that they need most."
    if other:
        i = other[0]
        says += (
            f" The first that does not is **{in_markdown(labels[i])}**: it looks most at "
            f"**{in_markdown(trace.src[int(looks[i].argmax())].text)}** and needs "
            f"**{in_markdown(words[needed[i]].label)}**. Looking and needing are not the same."
        )
    st.markdown(says)
    st.caption(f"Counted are pieces of words that need some word, with a fall of {NEEDED} or more.")


def sources(trace: Trace) -> dict[str, str]:
    """What might be the memory: everything the encoder holds after one of its layers, by what it is called."""
    layers = range(n_layers(trace))
    return {"the embeddings": "encoder.embedding.output"} | {
        f"encoder layer {n + 1}": output_of("encoder", n) for n in layers
    }


def differences(trace: Trace, letter: str) -> Array:
    """Largest difference between K (or V) of each decoder layer and X·W, for each X that might be the memory: (L,N)."""
    found = []
    for layer in range(n_layers(trace)):
        head = Head(KIND, layer, 0)
        matrix = engine.weights()[f"{head.path}.w_{letter}.weight"].T
        true = np.concatenate(list(trace.attention(KIND, layer, letter)), axis=1)  # (S,d_model)
        found.append([np.abs(trace.tensors[name] @ matrix - true).max() for name in sources(trace).values()])
    return np.array(found)


def memory(trace: Trace, view: View) -> None:
    """Which matrix the decoder layers read, and what would be if it were another."""
    names = list(sources(trace))
    short = [name.removeprefix("the ").replace(" layer", "") for name in names]
    layers = [f"decoder {n + 1}" for n in range(n_layers(trace))]
    st.markdown(
        "Which matrix does each decoder layer read? Multiply every candidate by this layer's own $W^K$ and $W^V$ and "
        "compare with the keys and values that it really used."
    )
    found = {letter: differences(trace, letter) for letter in "kv"}
    limit = max(float(one.max()) for one in found.values())
    for column, (letter, one) in zip(st.columns(2, gap="medium"), found.items(), strict=True):
        capital = letter.upper()
        with column:
            matrix(
                one, layers, short, key=f"memory_{letter}", title=f"Largest difference from the layer's own {capital}",
                how_to_read=f"{capital} of the row, minus the column times the row's W^{capital}. 0 means: this is it.",
                scale="positive", limit=limit, csv_name=f"differences of {capital}",
                describe=f"{capital} of {{row}} and {{column}} times W^{capital} differ by {{value}} at most",
            )  # fmt: skip
    last = max(float(one[:, -1].max()) for one in found.values())
    rest = min(float(one[:, :-1].min()) for one in found.values())
    s, d_model = trace.tensors[output_of("encoder", len(layers) - 1)].shape
    st.markdown(
        f"In the last column the largest difference is **{magnitude(last)}** (32-bit rounding), in the others it is "
        f"**{magnitude(rest)}** or more. So all {len(layers)} decoder layers read one and the same matrix "
        f"`({s}, {d_model})`, and it is what the *last* encoder layer returns, not the layer beside them."
    )
    choose_memory(trace, view, names)


def choose_memory(trace: Trace, view: View, names: list[str]) -> None:
    """The decoder reading another matrix as its memory, before and after."""
    st.markdown("**What if it were another matrix?** Let the decoder read what the encoder held earlier:")
    name = one_of("The decoder reads", names[:-1], key="memory", default=names[-2], wrap=True)
    src, tgt = (tuple(token.id for token in tokens) for tokens in (trace.src, trace.tgt))
    longest = min(2 * len(tgt) + 10, MAX_TOKENS)
    reading = experiments.other_memory(src, tgt, names.index(name), longest)
    rows, columns = view.groups(trace)
    before_after(
        (view.values(trace), view.values(trace, reading.weights)),
        (f"It reads {names[-1]}, as it learned", f"It reads {name}"),
        [group.label for group in rows],
        [group.label for group in columns],
        how_to_read=f"{in_sentence(view)}; 0 to 1 on both sides.",
        csv_name="weights",
        describe=KINDS[KIND].describe,
    )
    written = in_markdown(engine.machine().tokenizer.decode(reading.ids)) or "(nothing)"
    cut = len(reading.ids) == longest
    st.markdown(
        f"Translation before: **{in_markdown(trace.translation) or '(nothing)'}** Reading {name}: **{written}**"
        + (f" … (stopped after {longest} pieces)" if cut else "")
    )


def predict(trace: Trace) -> Sequence[Question]:
    head = current_head(KIND, (KIND,))
    weights = trace.attention(KIND, head.layer)[head.head]
    row = len(trace.labels) // 2
    best = int(weights[row].argmax())
    order = sorted({best, *(int(j) for j in np.argsort(-weights[row], kind="stable")[:4])})
    # The same sentence with a translation of one piece, <eos>: are the keys others?
    short = engine.trace(trace.text, "")
    changed = max(
        float(np.abs(trace.attention(KIND, n, what) - short.attention(KIND, n, what)).max())
        for n in range(n_layers(trace))
        for what in "kv"
    )
    n_heads, s, d_k = trace.attention(KIND, head.layer, "k").shape
    return (
        Question(
            "largest",
            f"In layer {head.layer + 1}, head {head.head + 1}: which English piece does it look at most before writing "
            f"**{in_markdown(trace.labels[row].text)}** (row {row + 1})?",
            tuple(f"{in_markdown(trace.src[j].text)} (piece {j + 1})" for j in order),
            frozenset({order.index(best)}),
            f"It gives it {number(float(weights[row, best]))} of its attention. Choose the cell in *See* to work it "
            "out.",
        ),
        Question(
            "sources",
            "In encoder-decoder attention, where do queries, keys and values come from?",
            (
                "Queries and keys from the decoder, values from the encoder.",
                "Queries from the decoder, keys and values from the encoder's output.",
                "Queries from the encoder, keys and values from the decoder.",
                "All three from the encoder's output.",
            ),
            frozenset({1}),
            "The one who writes asks; the English answers, both with what it can be found by and with what it hands "
            "over. Keys and values always come from the same place, or a weight would pick the value of something "
            "else.",
        ),
        Question(
            "kept",
            "The decoder has written a piece and goes on to the next. What becomes of the keys and values of its "
            "encoder-decoder attention?",
            (
                "They get one more row, for the piece just written.",
                "They stay exactly as they are.",
                "They are made anew and come out different, since the German has grown.",
            ),
            frozenset({1 if changed < 1e-4 else 2}),
            f"They are made from the encoder's output alone: K is ({n_heads}, {s}, {d_k}), a row for each of the {s} "
            f"English pieces, however long the German. Compared with a German sentence of one piece, the keys and "
            f"values here differ by {magnitude(changed)} at most. So a translator makes them once and keeps them; only "
            "the masked self-attention's grow with every piece.",
        ),
    )


show_lesson(
    "encoder-decoder-attention",
    idea=idea,
    choose=choose,
    see=see,
    do=do,
    check=check,
    predict=predict,
    code=(DecoderLayer.forward, MultiHeadAttention.keys_values, MultiHeadAttention.attend),
)
