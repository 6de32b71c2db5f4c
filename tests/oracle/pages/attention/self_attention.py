"""What the lesson on self-attention must show."""

import itertools
import re

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number
from tests.oracle.language.common import Choice, Head, Shown, Statements, code_of
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.words import inline, pieces, text_of, words
from tests.oracle.passes.decode import german, translated
from tests.oracle.passes.forward import Array, Forward, config
from tests.oracle.passes.space import cosine_of

prose = Prose("self_attention")

TRIAL = Choice("Try", "self_trial", ("Hide a piece", "What “it” means", "Two meanings of “bank”"))
HIDE, IT, BANK = TRIAL.options
WIDE = "The animal didn't cross the street because it was too wide."
TIRED = "The animal didn't cross the street because it was too tired."
MONEY = "I put my money in the bank.", "The bank is closed today."
RIVER = "We sat on the bank of the river.", "The bank of the river was steep."
STATES = (
    {},
    {"layer": "2", "head": "3", "hide": "4", "cell": "2.3"},
    {"sentence": WIDE, "self_trial": IT, "head": "2"},
    {"self_trial": IT, "noun": "animal", "layer": "1", "sentence": "Is it Tom's?"},
    {"sentence": RIVER[0], "self_trial": BANK, "head": "4"},
    {"sentence": "Go", "hide": "2"},
    {"hide": "٣", "self_trial": "x", "layer": "-1"},
    {"sentence": "Tom, Mary, " * 30, "hide": "9"},
)


def chosen_head(page: Page) -> Head:
    return common.head(page, ("encoder",))


def maps_of(oracle: Forward) -> Array:
    """All weights (L,H,S,S) of the encoder."""
    return np.stack([oracle[f"encoder.layers.{n}.self_attn.weights"] for n in range(config()["n_layers"])])


def idea(page: Page) -> Statements:
    yield from prose("in self attention a")
    yield prose.table("the table of attention queries from")
    yield from prose("a recurrent network has")


def first_cell(page: Page, chosen: Head) -> tuple[int, int] | None:
    """The row of “it”, if there is one."""
    rows = [n for n, piece in enumerate(page.src[:READABLE]) if piece.text == "it"]
    weights = page.oracle[f"{chosen.path}.weights"][chosen.head, :, :READABLE].astype(np.float32)
    return (rows[0], int(weights[rows[0]].argmax())) if rows else None


def shown(page: Page) -> Shown:
    chosen = chosen_head(page)
    start = first_cell(page, chosen)
    return common.shown_tensor(page, f"{chosen.path}.weights", head=chosen.head, kind="encoder", start=start)


def see(page: Page) -> Statements:
    chosen, maps = chosen_head(page), maps_of(page.oracle)[:, :, :READABLE, :READABLE]
    yield claims.head_grid(
        maps,
        selected=(chosen.layer, chosen.head),
        title="Every layer and head at a glance: click one to see it large",
        mean=False,
    )
    yield from common.head_controls(page, ("encoder",))
    lines = []
    for layer, n in np.ndindex(*maps.shape[:2]):
        row, column = divmod(int(maps[layer, n].astype(np.float32).argmax()), maps.shape[-1])
        places = (f"{at + 1} {page.src[at].text}" for at in (row, column))
        lines.append((str(layer + 1), str(n + 1), number(maps[layer, n].max(), 2), *places))
    yield from common.numbers_of_figure(("layer", "head", "largest weight", "from", "to"), *lines)
    looks, where = common.KINDS["encoder"].caption, f"(layer {chosen.layer + 1}, head {chosen.head + 1})"
    yield from common.tensor_matrix(shown(page), **looks | {"title": f"{looks['title']} {where}"})
    row = shown(page).cell[0]
    weights = page.oracle[f"{chosen.path}.weights"][chosen.head, row]
    best = sorted(range(len(weights)), key=lambda j: (-np.float32(weights[j]), j))[:3]
    looked = ", ".join(f"**{inline(page.src[j].text)}** (piece {j + 1}) {number(weights[j], 2)}" for j in best)
    begins = f"The chosen row is piece {row + 1}, **{inline(page.src[row].text)}**. It looks "
    yield claims.markdown(
        f"{begins}most at: {looked}. What is left goes to the others." if len(weights) > 3 else f"{begins}at: {looked}."
    )
    layers = range(config()["n_layers"])
    maps = [head for layer in layers for head in page.oracle[f"encoder.layers.{layer}.self_attn.weights"]]
    n_eos = len([one for one in maps if one.mean(0).argmax() == len(page.src) - 1])
    if n_eos:
        yield from prose("averaged over all rows", n_eos, len(maps))


def hide(page: Page) -> Statements:
    chosen, n = chosen_head(page), len(page.src)
    yield from prose("hide a piece none")
    piece = page.count("hide", n, min(2, n - 1)) - 1
    yield claims.numbered("Piece to hide", page.src, piece)
    without, name = page.translated(blocked=(piece,)), page.src[piece].text
    yield claims.table(
        ("", "translation"),
        ("every piece may be seen", page.translation or "(nothing)"),
        (f"without piece {piece + 1}, {name}", text_of(without.labels) or "(nothing)"),
    )
    yield from common.heads_before_after(
        page, (page.oracle, without), ("Before: every piece may be seen", f"After: piece {piece + 1} is hidden"), chosen
    )
    share = page.oracle[f"{chosen.path}.weights"][chosen.head, :, piece].mean()
    yield from prose("before got of a", inline(name), number(share))


def of_it(sentence: str, *others: str) -> list[Array]:
    """The weights (L,H) that “it” gives to these words: a word's pieces added up."""
    oracle = translated(sentence)
    groups = {word.text: word.pieces for word in words(pieces(oracle.ids["encoder"]))}
    ((it,), maps) = groups["it"], maps_of(oracle)
    return [sum(maps[:, :, it, j] for j in groups[other]) for other in others]


def what_it_means(page: Page) -> Statements:
    yield from prose("streets are wide so", WIDE)
    noun = yield from common.choose(page, "From “it” to", "noun", ["street", "animal"])
    wide, tired = (of_it(sentence, "street", "animal", "it") for sentence in (WIDE, TIRED))
    winners = ["street" if shares[0].mean() > shares[1].mean() else "animal" for shares in (wide, tired)]
    if winners[0] == winners[1]:
        yield from prose("on average the gets", winners[0])
    elif winners[0] == "street":
        yield from prose("the larger share changes")
    else:
        yield from prose("the larger share changes over")
    layers, heads = wide[0].shape
    yield from common.before_after(
        [shares[0 if noun == "street" else 1] for shares in (wide, tired)],
        ("… because it was too wide", "… because it was too tired"),
        [f"layer {n}" for n in range(1, layers + 1)],
        [f"head {n}" for n in range(1, heads + 1)],
        how_to_read=f"The weight that “it” gives to “{noun}” in every head, 0 to 1 on both sides.",
        describe=f"{{row}}, {{column}}: “it” gives “{noun}” {{value}}",
        csv_name=f"it to {noun}",
    )
    yield claims.table(
        (f"“it” gives, on average over {layers * heads} heads", "to “street”", "to “animal”", "to itself"),
        ("too wide", *(number(share.mean(), 3) for share in wide)),
        ("too tired", *(number(share.mean(), 3) for share in tired)),
    )
    yield from prose("the german shows which")
    yield claims.table(
        ("too", "the model writes", "its pronoun is"),
        *(
            (end, german(sentence), "right" if pronoun in re.findall(r"\w+", german(sentence)) else "wrong")
            for end, sentence, pronoun in (("wide", WIDE, "sie"), ("tired", TIRED, "es"))
        ),
    )
    yield from prose("attention is not an")
    yield claims.button("Look at “it” under See")


def states_of_bank(sentence: str) -> list[Array]:
    """The vector of “bank” before the first layer and after each: the mean of its pieces'."""
    oracle = translated(sentence)
    (bank,) = (word.pieces for word in words(pieces(oracle.ids["encoder"])) if word.text == "bank")
    names = ["encoder.embedding.tokens"]
    names += [f"encoder.layers.{n}.add_norm_2.output" for n in range(config()["n_layers"])]
    return [oracle[name][list(bank)].mean(0) for name in names]


def two_banks(page: Page) -> Statements:
    yield from prose("the bank for money", MONEY[0], MONEY[1], RIVER[0], RIVER[1])
    money, river = ([states_of_bank(sentence) for sentence in pair] for pair in (MONEY, RIVER))

    def cosines(pairs: list[tuple[list[Array], list[Array]]]) -> list[float]:
        each = [[cosine_of(a, b) for a, b in zip(one, two, strict=True)] for one, two in pairs]
        return list(np.mean(each, axis=0))

    same = cosines([(money[0], money[1]), (river[0], river[1])])
    other = cosines(list(itertools.product(money, river)))
    yield from prose(
        "after the last layer",
        number(same[-1], 2),
        number(other[-1], 2),
        prose.words("two banks")["alike" if same[-1] - other[-1] < 0.1 else "apart"],
    )
    yield claims.matrix(
        np.array([same, other]),
        ["same meaning", "other meaning"],
        ["embedding", *(f"after layer {n}" for n in range(1, len(same)))],
        **prose.words("cosine of the angle"),
        scale="signed",
        limit=1.0,
    )
    texts = german(MONEY[0]), german(RIVER[0])
    banks = "Bank" in texts[0] and next((word for word in ("Ufer", "Bank") if word in texts[1]), "")
    yield from prose("in german the money", *map(inline, texts), prose.words("two banks in german")[banks or "other"])
    yield claims.button("Look at “bank” under See")


def predict(page: Page) -> Statements:
    chosen = chosen_head(page)
    weights = page.oracle[f"{chosen.path}.weights"]
    first = weights[chosen.head, 0]
    yield common.which_piece(
        prose.line("in layer head what", chosen.layer + 1, chosen.head + 1, inline(page.src[0].text)),
        first,
        page.src,
        f"It gives it {number(first.max())} of its attention. Choose the cell in *See* to work it out.",
    )
    own = [float(np.mean([one[i, i] for i in range(len(one))])) for one in weights]
    most = own.index(max(own))
    options = [f"head {n}" for n in range(1, len(own) + 1)]
    wrong, values = (
        [f"In {n} it is {number(p)}." for n, p in zip(options, own, strict=True)],
        (number(own[most]), most + 1),
    )
    yield prose.question("in which head of", most, chosen.layer + 1, *values, options=options, wrong=wrong)
    animal, street = of_it(WIDE, "animal", "street")
    more, n_heads = int((animal > street).sum()), animal.size
    right = 0 if not more else 1 if more < n_heads / 2 else 2
    yield prose.question("in how many of", right, WIDE, n_heads, more)


do = TRIAL.trials(hide, what_it_means, two_banks)
code = code_of("model/parts/layers.py: EncoderLayer.forward", "model/parts/attention.py: MultiHeadAttention.forward")
