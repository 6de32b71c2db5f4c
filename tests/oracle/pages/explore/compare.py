"""What the page that compares two models must show."""

import itertools

import numpy as np

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import button, caption, markdown, number, segmented, table, text_box, toggle
from tests.oracle.language.common import KINDS, Statements, addresses
from tests.oracle.language.page import Page
from tests.oracle.language.words import inline, pieces
from tests.oracle.pages.explore.any_model import SPECIAL, browse, choice_of_model, shown_groups
from tests.oracle.passes.decode import translated
from tests.oracle.passes.foreign import OURS, Maps, family, names, reading
from tests.oracle.passes.forward import SOS, Array, Forward
from tests.oracle.shown import siblings
from tests.oracle.shown.attention import MEAN, selected_map
from tests.oracle.shown.frame import bar

prose = Prose("compare")

UNTRAINED = "untrained"
CATS = "The black cat fights the white cats."
STATES = addresses(
    f"sentence={CATS}",
    f"sentence={CATS}&right_model=ours&second=I ate an apple&left_map=2.3&right_map=3.1&words=true",
    f"sentence={CATS}&left_model=bert&right_model=bert&left_map=2.3&right_map=1.2",
    f"sentence={CATS}&left_model=bert&right_model=bert&second=I ate an apple and you ate a pear.",
    f"sentence={CATS}&right_model=gpt2&left_kind=Encoder-decoder&left_map=2.0&right_cell=3.2",
    f"sentence={CATS}&left_model=bert&left_cell=2.5&right_model={OURS}&hide_special=true",
    f"sentence={CATS}&right_model={OURS}&right_kind=Masked decoder&right_map=3.1",
    f"sentence=Go&right_model={OURS}&right_kind=Encoder-decoder",
    "sentence=I ate an apple.&left_model=gpt2&right_model=gpt2",
    f"sentence=Go&left_model={UNTRAINED}&right_model={OURS}&left_map=2.2",
    "sentence=Go&right_model=plain-1&right_map=2.4",
    "sentence= ",
)
# What one model reads beside the sentence: the first example that is another sentence.
DESCENDANTS = (
    "albert-mini",
    "bart-mini",
    "distilled",
    "electra-mini",
    "gpt-16",
    "gpt-32",
    "gpt-64",
    "t5-mini",
    "untaught",
)
EXAMPLES = "I ate an apple", "The boy sees the girl."
PLACES = (
    "itself",
    "the previous",
    "the next",
    "the first",
    "the last",
    "anything further left",
    "anything further right",
)


def maps_of(name: str, sentence: str) -> tuple[Maps, ...]:
    if name in names():
        return reading(name, sentence).maps
    if name in siblings.names():
        oracle: Forward = siblings.translated(name, sentence)
    else:
        oracle = translated(sentence, untrained=name == UNTRAINED)
    src, labels = pieces(oracle.ids["encoder"]), pieces(oracle.labels)
    tgt = pieces([SOS, *oracle.labels[:-1]])
    sides = {"encoder": (src, src), "decoder": (tgt, tgt), "cross": (labels, src)}
    return tuple(Maps(kind, every_layer(oracle, kind), *both) for kind, both in sides.items())


def every_layer(oracle: Forward, kind: str) -> Array:
    """Weights (L,H,T,S)."""
    path = f"{KINDS[kind].path}.weights"
    return np.stack([oracle[path.format(n)] for n in range(9) if path.format(n) in oracle.tensors])


def frame(page: Page) -> Statements:
    yield from bar(page)
    yield from prose("compare")
    models = [OURS, *sorted([UNTRAINED, *siblings.names(), *family(), *DESCENDANTS]), *names()]
    chosen = [page.state.get("left_model", OURS), page.state.get("right_model", names()[0])]
    typed, second = page.sentence.strip(), page.state.get("second", "")
    otherwise = typed
    if chosen[0] == chosen[1]:
        otherwise = next(one for one in EXAMPLES if one.rstrip(".") != typed.rstrip("."))
    sentences = [typed, second or otherwise]
    yield choice_of_model("First model", models, chosen[0])
    if not typed:
        yield from prose("there is nothing to")
    yield choice_of_model("Second model", models, chosen[1])
    yield text_box(
        "Sentence for the second model", second, placeholder=otherwise, help=prose.line("while this is empty")
    )
    if not typed:
        yield from prose("there is nothing to read")
        return
    by_word, hide = page.switch("words"), page.switch("hide_special")
    yield toggle("Group pieces into words", by_word)
    yield toggle("Hide special pieces", hide, help=SPECIAL)
    both = []
    for side, name, model, sentence in zip(("left", "right"), ("First", "Second"), chosen, sentences, strict=True):
        yield markdown(f"{name}: **{inline(model)}** on “{inline(sentence)}”")
        by_label = {KINDS[maps.kind].label: maps for maps in maps_of(model, sentence)}
        label = page.choice(f"{side}_kind", list(by_label), next(iter(by_label)))
        yield segmented("Attention", list(by_label), label)
        maps = by_label[label]
        rows, columns = (shown_groups(one, by_word, hide) for one in (maps.rows, maps.columns))
        yield from browse(page, maps, rows, columns, (0, 0), name=name, prefix=f"{side}_")
        both.append((maps, selected_map(page, maps.weights.shape, (0, 0), f"{side}_map")))
    yield from what_they_do(both)
    yield from alike(both)
    if by_word or hide:
        yield from prose("these numbers count all")


Chosen = tuple[Maps, tuple[int, int]]


def of_head(weights: Array, chosen: tuple[int, int]) -> Array:
    layer, head = chosen
    return weights[layer].mean(0) if head == MEAN else weights[layer, head]


def shares(maps: Maps) -> Array:
    """What share of its weight each head gives to which place (L,H,7), a mean over the rows."""
    _, _, n_rows, n_columns = maps.weights.shape
    found = np.zeros((*maps.weights.shape[:2], len(PLACES)))
    for row, column in itertools.product(range(n_rows), range(n_columns)):
        # In encoder-decoder attention a row's own place is as far into the sentence as it is into the translation.
        own = round(row * (n_columns - 1) / max(1, n_rows - 1)) if maps.kind == "cross" else row
        tests = [column == at for at in (own, own - 1, own + 1, 0, n_columns - 1)] + [column < own]
        found[:, :, tests.index(True) if any(tests) else 6] += maps.weights[:, :, row, column] / n_rows
    return found


def same_pieces(left: Maps, right: Maps) -> bool:
    texts = [[[piece.text for piece in side] for side in (maps.rows, maps.columns)] for maps in (left, right)]
    return texts[0] == texts[1]


def likeness(left: Maps, right: Maps) -> Array:
    """For every two heads (L,H,L,H) how much weight both give to the same cell, or else to the same place."""
    if same_pieces(left, right):
        one, two = left.weights, right.weights
        return np.array([[np.minimum(head, two).sum(-1).mean(-1) for head in layer] for layer in one])
    one, two = shares(left), shares(right)
    return np.array([[np.minimum(head, two).sum(-1) for head in layer] for layer in one])


def head_name(chosen: tuple[int, int]) -> str:
    layer, head = chosen
    return f"layer {layer + 1}, " + ("average" if head == MEAN else f"head {head + 1}")


def what_they_do(both: list[Chosen]) -> Statements:
    (left, one), (right, two) = both
    columns = [of_head(shares(maps), chosen) for maps, chosen in both]
    columns.append(np.minimum(*columns))
    yield from prose("what these two heads")
    yield table(
        ("a row looks at", f"first: {head_name(one)}", f"second: {head_name(two)}", "the smaller share"),
        *((name, *(number(column[n], 3) for column in columns)) for n, name in enumerate(PLACES)),
        ("together", *(number(column.sum(), 3) for column in columns)),
    )
    cell_by_cell = same_pieces(left, right) and MEAN not in (one[1], two[1])
    says = prose.words("each place counts", number(likeness(left, right)[one + two], 3) if cell_by_cell else "")
    shown = [says["once"], *[says["cross"]] * ("cross" in (left.kind, right.kind)), *[says["cells"]] * cell_by_cell]
    yield caption(" ".join(shown))


def alike(both: list[Chosen]) -> Statements:
    (left, one), (right, _) = both
    table_of_all = likeness(left, right)
    n_heads = table_of_all.shape[3]
    flat = table_of_all.reshape(table_of_all.shape[0] * table_of_all.shape[1], -1)
    yield from prose(
        "which heads behave alike",
        prose.words("what is compared")["cells" if same_pieces(left, right) else "lines"],
    )
    if one[1] != MEAN:
        partners = table_of_all[one]
        partner = divmod(int(partners.argmax()), n_heads)
        yield from prose("of the second model's", head_name(partner), head_name(one), number(partners.max(), 3))
        yield button("Show it above")
    best = sorted(range(len(flat)), key=lambda n: -flat[n].max())[:8]
    pairs = [(divmod(n, table_of_all.shape[1]), divmod(int(flat[n].argmax()), n_heads)) for n in best]
    yield from prose("the heads of the", len(pairs))
    yield table(
        ("", "first", "second", "alike"),
        *((str(n), head_name(a), head_name(b), number(table_of_all[a + b], 3)) for n, (a, b) in enumerate(pairs, 1)),
    )
    yield from prose("show a pair in")
    for n, (a, b) in enumerate(pairs, 1):
        yield button(str(n), help=f"{head_name(a)} and {head_name(b)}")
    yield from prose("for comparison half of", number(np.median(flat), 3))
