"""What the lesson on encoder-decoder attention must show."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import box, chance, magnitude, number, rounding
from tests.oracle.language.common import KINDS, Choice, Head, Shown, Statements, code_of
from tests.oracle.language.page import READABLE, Page, chances
from tests.oracle.language.statement import legible
from tests.oracle.language.words import Word, encoded, inline, pieces, text_of, words
from tests.oracle.passes.forward import MAX_PIECES, Array, Forward, config, softmax, tidied
from tests.oracle.shown.attention import groups, regrouped
from tests.oracle.shown.worked import between_words, mean_of, steps

prose = Prose("encoder_decoder_attention")

VIEW = Choice("Show", "view", ("One head", "Layer average", "Full average"))
ONE, LAYER, ALL = VIEW.options
TRIAL = Choice("Try", "cross_trial", ("Write the German yourself", "Hide an English word", "Change the memory"))
OWN, HIDE, MEMORY = TRIAL.options
LONG = "My neighbour's cat sleeps on the sofa all day long. " * 5
STATES = (
    {},
    {"view": LAYER, "by_word": "true", "layer": "2", "cross_trial": HIDE, "cell": "1.2", "hide_each": "true"},
    {"view": ALL, "cross_trial": MEMORY, "sentence": "The animal didn't cross the street."},
    {"view": LAYER, "cross_trial": MEMORY, "memory": "the embeddings", "by_word": "true", "layer": "1", "head": "2"},
    {"view": ALL, "by_word": "true", "cross_trial": HIDE, "hide": "1", "sentence": "Zoë mag süße Äpfel, oder?"},
    {"sentence": "Go", "cross_trial": MEMORY, "memory": "encoder layer 1"},
    {"by_word": "true", "german": "Ich aß einen Apfel.", "head": "3"},
    {"german": "Das Haus ist rot.", "view": LAYER, "cell": "2.3"},
    # The longest word comes after others of several pieces.
    {"sentence": "The quokkas were tergiversating.", "view": "Everything", "by_word": "maybe", "cell": "99.99"},
    {"german": "Das Haus ist rot. " * 25, "sentence": "Go"},
    {"sentence": LONG, "cross_trial": HIDE, "hide": "4", "hide_each": "true"},
    {"cross_trial": HIDE, "hide": "٣", "memory": "x"},
    {"sentence": "?", "cross_trial": HIDE, "hide_each": "true"},  # no word, on no side
    {"sentence": "ภาษาไทย <b>$x$</b> 🍕", "german": "<b>$x$</b> 🍕", "by_word": "true", "cross_trial": "y"},
)


def idea(page: Page) -> Statements:
    yield from prose("before each piece it")
    n = config()["n_layers"]
    way = [part for layer in range(1, n + 1) for part in (box(f"encoder layer {layer}"), "→")]
    yield claims.flow(
        prose.line("only what encoder layer", n),
        [*way, box("M", f"({len(page.src)}, {config()['d_model']})", "value")],
        *(
            [
                "M →",
                box("K", colour="key"),
                box("V", colour="value"),
                "→",
                box(f"decoder layer {layer}"),
                "with its own",
                box("Q", colour="query"),
            ]
            for layer in range(1, n + 1)
        ),
    )
    yield from prose("the three attentions side")
    yield prose.table("the table of queries from keys")
    yield from prose("all three run the")
    yield from (claims.button(*offer) for offer in prose.words("sentences to try").items())


# --- the map that is looked at ---------------------------------------------------------------------------------------


def chosen_head(page: Page) -> Head:
    return common.head(page, ("cross",), "cross")


def view_title(page: Page) -> str:
    chosen = chosen_head(page)
    return {
        ONE: f"layer {chosen.layer + 1}, head {chosen.head + 1}",
        LAYER: f"average of the heads of layer {chosen.layer + 1}",
        ALL: "average of the heads of all layers",
    }[VIEW.of(page)]


def in_full(page: Page) -> str:
    title = view_title(page)
    return chosen_head(page).title if VIEW.of(page) == ONE else title[0].upper() + title[1:]


def every_map(oracle: Forward) -> Array:
    return np.stack([oracle[f"decoder.layers.{n}.cross_attn.weights"] for n in range(config()["n_layers"])])


def by_pieces(page: Page, oracle: Forward | None = None) -> Array:
    """The map (T,S) between pieces, of the page's pass or of another."""
    chosen, maps = chosen_head(page), every_map(oracle or page.oracle)
    view = VIEW.of(page)
    return maps.mean((0, 1)) if view == ALL else maps[chosen.layer].mean(0) if view == LAYER else maps[
        chosen.layer, chosen.head
    ]  # fmt: skip


def rows_and_columns(page: Page, oracle: Forward | None = None) -> tuple[list[Word], list[Word]]:
    grouped = page.switch("by_word")
    german = pieces((oracle or page.oracle).labels)
    return groups(german, grouped, False), groups(page.src, grouped, False)


def looked_at(page: Page, oracle: Forward | None = None) -> Array:
    """The same map between what the rows and the columns stand for."""
    return regrouped(by_pieces(page, oracle), *rows_and_columns(page, oracle))


def is_word(text: str) -> bool:
    return text != "<eos>" and any(sign.isalnum() for sign in text)


def first_cell(page: Page) -> tuple[int, int]:
    """The largest weight from a word to a word, if there is one."""
    rows, columns = (side[:READABLE] for side in rows_and_columns(page))
    between = np.outer([is_word(row.text) for row in rows], [is_word(column.text) for column in columns])
    values = looked_at(page)[: len(rows), : len(columns)].astype(np.float32) + between.astype(np.float32)
    row, column = divmod(int(values.argmax()), len(columns))
    return row, column


def shown(page: Page) -> Shown:
    chosen, view = chosen_head(page), VIEW.of(page)
    start = first_cell(page)
    if view == ONE:
        return common.shown_tensor(page, f"{chosen.path}.weights", head=chosen.head, kind="cross", start=start)
    if view == ALL:
        return common.shown_tensor(page, "decoder.cross_attn.average", kind="cross", start=start)
    average = common.shown_tensor(page, f"{chosen.path}.average", kind="cross", start=start)
    return replace(average, hidden=np.zeros(average.values.shape, bool))  # the mask hides nothing


def cell_of(page: Page) -> tuple[int, int]:
    rows, columns = rows_and_columns(page)
    return page.pair("cell", (min(READABLE, len(rows)), min(READABLE, len(columns))), first_cell(page))


def see(page: Page) -> Statements:
    chosen, view = chosen_head(page), VIEW.of(page)
    yield from common.head_controls(page, ("cross",), "cross")
    yield VIEW.drawn(page)
    yield claims.toggle("Whole words", page.switch("by_word"))
    yield claims.head_grid(
        every_map(page.oracle)[:, :, :READABLE, :READABLE],
        selected={ONE: (chosen.layer, chosen.head), LAYER: (chosen.layer, -1), ALL: None}[view],
        title="Every layer and head: click one to see it large",
    )
    title = f"{KINDS['cross'].caption['title']} ({view_title(page)})"
    values, (rows, columns) = looked_at(page), rows_and_columns(page)
    if page.switch("by_word"):
        looks = {"title": title, "how_to_read": prose.line("a row is one"), "csv_name": f"words {view_title(page)}"}
        describe = KINDS["cross"].describe
        yield common.cut_matrix(values, rows, columns, describe=describe, selected=cell_of(page), **looks)
        yield from common.cut_to((len(rows), "rows"), (len(columns), "columns"))
    else:
        yield from common.tensor_matrix(shown(page), title=title, how_to_read=prose.line("a row is the"))
    yield from what_it_shows(page, values, rows, columns)
    (h, t, d_k), s = page.oracle[f"{chosen.path}.q"].shape, len(page.src)
    yield from prose("shapes q from the", h, t, d_k, s)


def what_it_shows(page: Page, values: Array, rows: Sequence[Word], columns: Sequence[Word]) -> Statements:
    row = cell_of(page)[0]
    order = sorted(range(len(columns)), key=lambda j: (-np.float32(values[row, j]), j))
    looked = ", ".join(
        f"**{inline(columns[j].text)}** (column {j + 1}) {number(values[row, j], 2)}"
        for j in order[:3]
        if values[row, j] >= 0.005
    )
    yield from prose("row before writing it", row + 1, inline(rows[row].text), looked)
    of_words = [i for i, one in enumerate(rows) if is_word(one.text)]
    lost = sum(not is_word(columns[int(values[i].argmax())].text) for i in of_words)
    answer = prose.words("an alignment")["no" if lost else "perhaps" if of_words else "none"]
    what = "words" if page.switch("by_word") else "pieces of words"
    counted = prose.line("german have their largest", lost, len(of_words), what) if of_words else ""
    yield from prose("is this an alignment", counted, answer)


def check(page: Page) -> Statements:
    if not page.switch("by_word"):
        yield from common.check_cell(shown(page))
        return
    (rows, columns), (i, j) = rows_and_columns(page), cell_of(page)
    yield from prose("how did this come", legible(looked_at(page)[i, j]), inline(rows[i].text), inline(columns[j].text))
    chosen, maps, view = chosen_head(page), every_map(page.oracle), VIEW.of(page)
    if view == ONE:
        yield from steps(between_words(maps[chosen.layer, chosen.head], rows[i].pieces, columns[j].pieces))
    else:
        parts, name = (maps[chosen.layer], "head") if view == LAYER else (maps.mean(1), "the average of layer")
        values = regrouped(parts, [rows[i]], [columns[j]])[:, 0, 0].tolist()
        yield from steps(mean_of(values, [f"{name} {n}" for n in range(1, len(parts) + 1)]))
    yield from prose("switch whole words off")


# --- do --------------------------------------------------------------------------------------------------------------


def own(page: Page) -> Statements:
    yield from prose("give the decoder other")
    yield from (claims.button(*offer) for offer in prose.words("other german").items())
    typed = page.state.get("german", "")
    yield claims.text_box("Your own German sentence", typed, "Leave it empty for the model's translation")
    yield from read(page, page.oracle, "The model's translation")
    if not typed:
        yield from prose("type a german sentence")
        return
    given = page.reading(typed)
    yield from read(page, given, "Your German")
    yield from verdict(page, given)
    if len(encoded(tidied(typed))) > MAX_PIECES:
        yield from prose("your german is longer", MAX_PIECES)


def read(page: Page, oracle: Forward, title: str) -> Statements:
    rows, columns = rows_and_columns(page, oracle)
    looks = {"how_to_read": f"{in_full(page)}; 0 to 1 on both sides.", "describe": KINDS["cross"].describe}
    yield common.cut_matrix(looked_at(page, oracle), rows, columns, title=title, csv_name=f"weights {title}", **looks)
    yield from prose("how likely the model")
    labels = pieces(oracle.labels)
    texts = [piece.text for piece in labels[:READABLE]]
    yield claims.bars(texts, chances(oracle)[:READABLE], f"Probability of each piece: {title}")
    yield from common.cut_to((len(labels), "pieces"))


def verdict(page: Page, oracle: Forward) -> Statements:
    given, all_of_them = chances(oracle), softmax(oracle["logits"])
    n, best = len(given), all_of_them.argmax(1)
    mean = float(np.exp(np.log(given).mean()))
    english = f"**{inline(page.text)}**"
    says = prose.words("your german", english)["likely" if mean >= 0.5 else "different" if mean >= 0.02 else "not"]
    right = sum(best == oracle.labels)
    yield from prose(
        "all pieces of your", n, magnitude(given.prod()), magnitude(mean), right, says, "is" if right == 1 else "are"
    )
    lines = zip(pieces(oracle.labels), given, best, all_of_them.max(1), strict=True)
    yield claims.table(
        "your piece | its probability | the likeliest piece | its probability",
        *[(one.text, chance(p), pieces([id])[0].text, chance(q)) for one, p, id, q in lines][:READABLE],
    )


def source_words(page: Page) -> list[Word]:
    return [word for word in words(page.src) if page.src[word.pieces[0]].word >= 0]


def hide(page: Page) -> Statements:
    yield from prose("what a german piece")
    english, n = source_words(page), len(page.labels)
    at = page.count("hide", len(english), min(2, len(english))) - 1
    yield claims.numbered("Word to hide", english, at)
    name, written = inline(english[at].text), text_of(page.translated(blocked=english[at].pieces).labels)
    both = (inline(text) or "(nothing)" for text in (page.translation, written))
    yield from prose("translation before written without", next(both), name, next(both))
    before = page.probabilities
    falls = np.stack([before - chances(page.under(blocked=word.pieces)) for word in english], 1)
    after = before - falls[:, at]
    yield claims.matrix(
        np.stack([before, after])[:, :READABLE],
        ["all words seen", "word hidden"],
        [piece.text for piece in page.labels[:READABLE]],
        **prose.words("probabilities", english[at].text),
    )
    yield from common.cut_to((n, "pieces"))
    hurt = int(falls[:, at].argmax())
    piece = inline(page.labels[hurt].text), hurt + 1, magnitude(before[hurt]), magnitude(after[hurt])
    needs = "one needs" if falls[hurt, at] >= 0.05 else "none needs"
    yield claims.markdown(prose.words("which piece needs it", name, *piece)[needs])
    each = page.switch("hide_each")
    yield claims.toggle("Hide every word in turn", each)
    if each:
        yield from looking_and_needing(page, english, falls)


def looking_and_needing(page: Page, english: Sequence[Word], falls: Array) -> Statements:
    looks = by_pieces(page)
    added = np.stack([looks[:, list(word.pieces)].sum(1) for word in english], 1)
    loss = "How much less likely the row's piece gets without the column's word."
    for verb, title, how_to_read, values in (
        ("looks", "Where it looks", f"{in_full(page)}; weights from 0 to 1.", added),
        ("needs", "What it needs", loss, falls),
    ):
        named = {"title": title, "csv_name": title, "describe": f"“{{row}}” {verb} “{{column}}”: {{value}}"}
        yield common.cut_matrix(values, page.labels, english, how_to_read=how_to_read, **named)
    yield from common.cut_to(*zip(falls.shape, ("rows", "columns"), strict=True))
    told = [i for i, piece in enumerate(page.labels) if is_word(piece.text) and falls[i].max() >= 0.05]
    looked, needed = looks.argmax(1), [english[j] for j in falls.argmax(1)]
    other = [i for i in told if looked[i] not in needed[i].pieces]
    says = prose.line("looks where it needs", len(told) - len(other), len(told)) if told else prose.line("no piece of")
    for i in other[:1]:
        names = inline(page.labels[i].text), inline(page.src[looked[i]].text), inline(needed[i].text)
        says += f" {prose.line('the first that does not', *names)}"
    yield claims.markdown(says)
    yield from prose("counted are pieces of")


def memory(page: Page) -> Statements:
    yield from prose("which matrix does each")
    n, oracle = config()["n_layers"], page.oracle
    held = [oracle["encoder.embedding.output"]]
    held += [oracle[f"encoder.layers.{layer}.add_norm_2.output"] for layer in range(n)]
    differ = {}
    for letter in "kv":
        differ[letter] = np.zeros((n, n + 1))
        for layer in range(n):
            path = f"decoder.layers.{layer}.cross_attn"
            used, w = np.concatenate(list(oracle[f"{path}.{letter}"]), 1), oracle[f"{path}.w_{letter}.weight"]
            differ[letter][layer] = [np.abs(one @ w.T - used).max() for one in held]
    for letter, values in differ.items():
        name = letter.upper()
        yield claims.matrix(
            values,
            [f"decoder {layer}" for layer in range(1, n + 1)],
            ["embeddings", *(f"encoder {layer}" for layer in range(1, n + 1))],
            **prose.words("differences", name),
            scale="positive",
            limit=max(one.max() for one in differ.values()),
        )
    yield from prose(
        "in the last column",
        rounding(),
        magnitude(min(one[:, :-1].min() for one in differ.values())),
        n,
        len(page.src),
        config()["d_model"],
    )
    yield from another_memory(page)


def another_memory(page: Page) -> Statements:
    n = config()["n_layers"]
    names = ["the embeddings", *(f"encoder layer {layer}" for layer in range(1, n))]
    name = page.choice("memory", names, names[-1])
    yield from prose("what if it were")
    yield claims.segmented("The decoder reads", names, name)
    layer = names.index(name)
    rows, columns = rows_and_columns(page)
    yield from common.before_after(
        [looked_at(page, oracle) for oracle in (page.oracle, page.under(memory_after=layer))],
        (f"It reads encoder layer {n}, as it learned", f"It reads {name}"),
        rows,
        columns,
        how_to_read=f"{in_full(page)}; 0 to 1 on both sides.",
        describe=KINDS["cross"].describe,
        csv_name="weights",
    )
    longest = min(2 * len(page.labels) + 10, MAX_PIECES)
    ids = page.translated(memory_after=layer).labels[:longest]
    yield from prose(
        "translation before reading",
        inline(page.translation) or "(nothing)",
        name,
        inline(text_of(ids)) or "(nothing)",
        f" … (stopped after {longest} pieces)" if len(ids) == longest else "",
    )


# --- predict ---------------------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    chosen, row = chosen_head(page), len(page.labels) // 2
    weights = page.oracle[f"{chosen.path}.weights"][chosen.head, row]
    yield common.which_piece(
        prose.line("the model writes piece", inline(page.labels[row].text), row + 1, chosen.layer + 1, chosen.head + 1),
        weights,
        page.src,
        f"It gives it {number(weights.max())} of its attention. Choose the cell in *See* to work it out.",
    )
    english = source_words(page)
    lengths = [len(word.text) for word in english]
    word = english[lengths.index(max(lengths))]
    before, after = page.probabilities, chances(page.under(blocked=word.pieces))
    most = int((before - after).argmax())
    yield common.which_piece(
        prose.line("hide from the whole", inline(word.text)),
        before - after,
        page.labels,
        prose.line("it goes from to", magnitude(before[most]), magnitude(after[most])),
    )
    h, s, d_k = page.oracle[f"{chosen.path}.k"].shape
    yield prose.question("the decoder has written", 1, h, s, d_k, rounding())
    yield prose.question("about transformers which of", [1, 3])


do = TRIAL.trials(own, hide, memory)
code = code_of("model/parts/layers.py: DecoderLayer.forward", "model/parts/attention.py: MultiHeadAttention.forward")
