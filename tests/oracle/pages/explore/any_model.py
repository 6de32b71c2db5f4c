"""What the page for any model must show."""

from tests.oracle.language import claims
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance
from tests.oracle.language.common import KINDS, Statements, addresses
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import Piece, Word, inline, visible, words
from tests.oracle.passes.foreign import (
    BERT,
    GPT,
    OURS,
    Maps,
    Model,
    Reading,
    family,
    names,
    not_learned,
    opened,
    reading,
    texts,
)
from tests.oracle.shown.attention import MEAN, groups, overview, regrouped, selected_map
from tests.oracle.shown.bertviz_views import view
from tests.oracle.shown.frame import bar

prose = Prose("any_model")

CATS = "The black cat fights the white cats."
STATES = addresses(
    f"sentence={CATS}",
    f"sentence={CATS}&model=bert&cover=3&words=true&map=2.3&cell=4.2",
    f"sentence={CATS}&model=bert&hide_special=true&map=1.1",
    f"sentence={CATS * 9}&model=gpt2&words=true",
    f"sentence={CATS}&model=ours&foreign_kind=Encoder-decoder&hide_special=true&bertviz_too=true",
    f"sentence={CATS}&model=ours&foreign_kind=Masked decoder&map=3.2&bertviz_too=true",
    f"sentence={CATS}&model=t5&bertviz_too=true&bertviz=Model view&map=2.1",
    f"sentence={CATS * 9}&model=large&bertviz_too=true&bertviz=Model view&map=5.3",
    f"sentence={CATS}&model={OURS}&foreign_kind=Encoder-decoder&map=3.1",
    f"sentence={CATS}&model={GPT}",
    f"sentence={CATS}&model={BERT}&cover=3",
    "sentence= &model=bert",
)


SPECIAL = prose.line("special pieces")


def frame(page: Page) -> Statements:
    yield from bar(page)
    yield from prose("any model")
    name = page.state.get("model", names()[0])
    yield choice_of_model("Model", [OURS, *family(), *names()], name)
    yield from prose("how do i add")
    if not page.sentence.strip():
        yield from prose("there is nothing to")
        return
    model = opened(name)
    yield from prose(
        "is parameters type",
        name,
        prose.words("what it is")[model.kind],
        f"{model.n_parameters:,}",
        model.model.config.model_type,
    )
    if name in (OURS, *family()):
        yield from prose("this is one of")
        n, tables, zeros, left_out = (f"{one:,}" for one in (model.n_parameters, *not_learned(model)))
        if name == OURS:
            yield from prose("tables of sines", n, tables, zeros)
        elif name == GPT:
            yield from prose("biases alone", n, zeros)
        elif name == BERT:
            yield from prose("a head is left out", n, zeros, left_out)
    yield from predictions(page, model)
    yield from attention(page, read(page, model))


def choice_of_model(label: str, options: list[str], value: str) -> Statement:
    return claims.control("selectbox", label, placeholder="Choose one, or type a name", options=options, value=value)


def read(page: Page, model: Model) -> Reading:
    covered = int(page.state.get("cover", "0"))
    return reading(model.name, page.sentence.strip(), covered - 1 if covered else None)


def predictions(page: Page, model: Model) -> Statements:
    uncovered, found = reading(model.name, page.sentence.strip()), read(page, model)
    covered = int(page.state.get("cover", "0"))
    if model.kind == "encoder":
        options = ["none", *(f"{n} {visible(piece.text)}" for n, piece in enumerate(uncovered.pieces, 1))]
        yield claims.select(
            "Cover a piece and let the model guess it",
            options,
            options[covered],
            help=prose.line("the model then reads"),
        )
    n = len(found.pieces)
    listed = " · ".join(inline(piece.text) or "␣" for piece in found.pieces[:80]) + " · …" * (n > 80)
    yield from prose("the model cuts it", n, listed)
    if found.n_cut:
        yield from prose("the sentence is pieces", found.n_cut, n)
    if model.kind != "encoder":
        verb = "goes on" if model.kind == "decoder" else "writes"
        written = f"**{inline(found.written)}**" if found.written.strip() else ""
        yield from prose("the model", verb, written or "only special pieces, which have no letters.")
    if found.predicted is None:
        return
    yield from prose("what it thinks likely")
    what = prose.words("what it guesses", covered, model.tokenizer.mask_token)[model.kind]
    yield from prose("its ten likeliest guesses", what)
    best = (-found.predicted).argsort(kind="stable")[:10].tolist()
    yield claims.bars(
        texts(model.tokenizer, best), found.predicted[best].tolist(), "The likeliest pieces, with their probabilities"
    )
    if covered:
        answer = uncovered.pieces[covered - 1]
        share = found.predicted[answer.id]
        yield from prose(
            "covered was it gets",
            inline(answer.text),
            chance(share),
            f"{1 + (found.predicted > share).sum():,}",
            f"{len(found.predicted):,}",
        )


def shown_groups(pieces: tuple[Piece, ...], by_word: bool, hide: bool) -> list[Word]:
    """Pieces or words; without special ones if there are others. WordPiece's ## is no part of a word."""
    found = groups(pieces, by_word=False, hide_eos=False)
    if by_word:
        found = [
            Word("".join(pieces[n].text.removeprefix("##") for n in w.pieces), w.pieces) if len(w.pieces) > 1 else w
            for w in words(pieces)
        ]
    return ([g for g in found if pieces[g.pieces[0]].word >= 0] or found) if hide else found


def attention(page: Page, found: Reading) -> Statements:
    by_label = {KINDS[maps.kind].label: maps for maps in found.maps}
    by_word, hide = page.switch("words"), page.switch("hide_special")
    label = page.choice("foreign_kind", list(by_label), next(iter(by_label)))
    yield from prose("where it looks")
    if len(by_label) > 1:
        yield claims.segmented("Attention", list(by_label), label)
    yield claims.toggle("Group pieces into words", by_word)
    yield claims.toggle("Hide special pieces", hide, help=SPECIAL)
    maps = by_label[label]
    rows, columns = (shown_groups(pieces, by_word, hide) for pieces in (maps.rows, maps.columns))
    yield from browse(page, maps, rows, columns, default=(0, MEAN))
    if hide:
        yield from prose("rows no longer add")
    yield claims.toggle("Draw it with BertViz too", page.switch("bertviz_too"))
    if page.switch("bertviz_too"):
        layer, head = selected_map(page, maps.weights.shape, (0, MEAN))
        weights = regrouped(maps.weights, rows, columns)
        yield from view(page, maps.kind, weights, [g.text for g in rows], [g.text for g in columns], layer, head)


def browse(
    page: Page,
    maps: Maps,
    rows: list[Word],
    columns: list[Word],
    default: tuple[int, int],
    name: str = "",
    prefix: str = "",
) -> Statements:
    """The overview and the chosen map of one kind of attention of any model."""
    describe = prose.line("after reading") if maps.kind == "decoder" else KINDS[maps.kind].describe
    yield from overview(
        page,
        maps.weights,
        maps.masked,
        rows,
        columns,
        title=KINDS[maps.kind].name,
        how_to_read=prose.words("how its maps are read")[maps.kind],
        describe=describe,
        csv_name=f"{name} {maps.kind} attention".strip(),
        default=default,
        prefix=prefix,
    )
