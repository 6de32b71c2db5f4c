"""What the lesson on BART must show."""

import functools
import re
from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import Series, chance, number
from tests.oracle.language.common import Choice, Shown, Statements, Stops
from tests.oracle.language.page import Page, chances
from tests.oracle.language.words import inline
from tests.oracle.passes import shipped
from tests.oracle.passes.family import bert
from tests.oracle.passes.forward import EOS, SOS, Array, Forward

prose = Prose("torn_text")

BART, ROOM, MORE, SEED, DRAWS = "bart-mini", 14, 4, 7, 8
KINDS = {"mask": "masking", "delete": "deletion", "infill": "infilling", "permute": "permutation", "rotate": "rotation"}
NOISE = Choice("Noise", "noise", tuple(KINDS), "infill")
SHARE = Stops("Share that is torn, in %", "share", ("0", "10", "20", "30", "40", "50", "70", "100"), "30")
TRIAL = Choice("Try", "torn_trial", ("On texts it never read", "How much comes back"))
STATES: tuple[dict[str, str], ...] = (
    {"sentence": "The boy sees the girl. She waves to him.", "stop": "4", "noise": "permute", "cell": "2.3"},
    {"torn_trial": TRIAL.options[1], "noise": "delete", "share": "50", "seed": "3", "stop": "2"},
    {"sentence": "The man who told me that he had lost it forgot it again. " * 9, "noise": "mask", "share": "70"},
    {"sentence": "Go", "noise": "rotate", "share": "100", "stop": "1", "torn_trial": TRIAL.options[1]},
    {"sentence": "Frobnicating quokkas! Where?", "share": "0", "stop": "5", "torn_trial": TRIAL.options[1]},
)

Ids = tuple[int, ...]


class Text:
    """The page's text as BART is given it; words, sentences: where each begins."""

    def __init__(self, page: Page) -> None:
        ended = bert.ended(page.text)
        split = re.split(r"""(?:(?<=[.!?])|(?<=[.!?]["']))\s+(?=["'A-Z])""", ended)
        each = [bert.tokenizer().encode(one, add_special_tokens=False).ids for one in split]
        whole, starts = [id for ids in each for id in ids], np.cumsum([0, *map(len, each)]).tolist()
        self.n = len(whole) if len(whole) <= ROOM else max((at for at in starts if 0 < at <= ROOM), default=ROOM)
        self.ids: Ids = tuple(whole[: self.n])
        self.sentences = [at for at in starts if at < self.n]
        self.words = [at for at, id in enumerate(self.ids) if at in starts or bert.raw(id)[:1] == b" "]
        self.said = f" {prose.line('ended')}" * (ended != page.text)
        if self.n < len(whole):
            self.said = f" {prose.line('room', ROOM, len(whole), self.n)}"

    def torn(self, kind: str, percent: int = 30, seed: int = SEED) -> list[tuple[int, Ids]]:
        """Of each piece left its id, and the places it stands for. Lewis et al. 2019, §2.2, drawn as the app draws."""
        left, rng, share = [(id, (at,)) for at, id in enumerate(self.ids)], np.random.default_rng(seed), percent / 100
        k = round(share * self.n)
        if kind == "rotate":
            start = int(rng.integers(min(k, self.n - 1))) + 1 if min(k, self.n - 1) else 0
            return left[start:] + left[:start]
        if kind == "permute":
            starts = self.sentences if len(self.sentences) > 1 else self.words
            units = [left[a:b] for a, b in pairwise([*starts, self.n])]
            least = 2 if share and len(units) > 1 else 0
            moved = rng.permutation(len(units))[: max(least, round(share * len(units)))].tolist()
            taken = dict(zip(moved, moved[-1:] + moved[:-1], strict=True))
            return [piece for place in range(len(units)) for piece in units[taken.get(place, place)]]
        if kind != "infill":
            hidden = rng.permutation(self.n)[:k]
            masked = [(bert.MASK if places[0] in hidden else id, places) for id, places in left]
            return masked if kind == "mask" else [one for one in masked if one[0] != bert.MASK]
        spans: list[int] = []
        while sum(spans) < k:
            spans.append(min(k - sum(spans), int(rng.poisson(3.0))))
        sizes, marks = iter(rng.permutation(spans).tolist()), rng.permutation([1] * len(spans) + [0] * (self.n - k))
        lengths = [int(next(sizes)) if one else 1 for one in marks]
        parts = zip(marks, lengths, np.cumsum(lengths).tolist(), strict=True)
        return [(bert.MASK, tuple(range(end - size, end))) if one else left[end - 1] for one, size, end in parts]

    def read(self, kind: str, *given: int) -> tuple[Ids, Forward]:
        src = tuple(id for id, _ in self.torn(kind, *given))
        return src, passed(src, written(src, self.n + MORE))

    def come_back(self, kind: str, percent: int = 30) -> Array:
        """How many pieces in each draw, torn and restored (DRAWS,2)."""
        torn = [tuple(id for id, _ in self.torn(kind, percent, seed + 1)) for seed in range(DRAWS)]
        return np.array([[len(in_order(self.ids, ids)) for ids in (src, written(src, self.n + MORE))] for src in torn])


def passed(src: Ids, labels: Ids) -> Forward:
    return Forward([*src, EOS], list(labels), settings=shipped.config(BART), w=shipped.weights(BART))


@functools.lru_cache(4096)
def written(src: Ids, most: int) -> Ids:
    ids, start = [SOS], passed(src, ())
    while len(ids) <= most and ids[-1] != EOS:
        ids.append(int(start.next_logits(ids).argmax()))
    return tuple(ids[1:])


def in_order(one: Ids, other: Ids) -> dict[int, int]:
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return {block.b + n: block.a + n for block in blocks for n in range(block.size)}


def scene(page: Page) -> Statements:
    text = Text(page)
    frames = [scene_frame(text, kind) for kind in KINDS]
    reads = [text.read(kind) for kind in KINDS]
    gains = [len(in_order(text.ids, read.labels)) - len(in_order(text.ids, src)) for src, read in reads]
    opens = gains.index(max(gains))
    yield from screen.scene(page, prose.line("bart reads your text", text.said), "Tear it", frames, opens)


def scene_frame(text: Text, kind: str) -> screen.Panel:
    noise, (src, read) = text.torn(kind), text.read(kind)
    p, has_ended, n = chances(read), read.labels[-1] == EOS, text.n
    ids = tuple(read.labels[: len(p) - has_ended])
    back, seen = in_order(text.ids, ids), {places[0] for id, places in noise if id != bert.MASK}
    went = {i: at for at, (_, places) in enumerate(noise) for i in places}
    links = [screen.link((0, i), (1, at), 0.2, "query" if i in seen else "key") for i, at in went.items()]
    for j, i in back.items():
        links += [screen.link((1, went[i]), (2, j), 0.2, "output" if i in seen else "key")] if i in went else []
    looks = {j: "" if back[j] in seen else "strong" for j in back}
    own = [screen.card(bert.entry(id), "" if i in seen else "unseen") for i, id in enumerate(text.ids)]
    left = [screen.card(bert.entry(id), "asked" if id == bert.MASK else "") for id in src]
    said = [screen.card(bert.entry(id), looks.get(j, "asked"), chance(p[j]), p[j]) for j, id in enumerate(ids)]
    rows = [(own, "your text"), (left, "the encoder reads", "plain"), (said, "the decoder writes", "output")]
    before, after = len(in_order(text.ids, src)), len(back)
    bars = [("torn", before, f"{before} of {n}"), ("restored", after, f"{after} of {n}", before, True)]
    drawn = screen.bars([screen.bar(*one) for one in bars], "Pieces in your order; dashed: torn", limit=n)
    says = prose.line("of pieces stand in", before, n, after)
    says += f" {prose.words('says', n - len(seen), src.count(bert.MASK))[kind]}"
    says += "" if has_ended else f" {prose.line('not ended')}"
    return screen.frame(kind, says, [screen.cards([screen.row(*row) for row in rows], links)], [drawn])


def idea(page: Page) -> Statements:
    yield from prose("bart is trained on", shipped.config(BART)["n_layers"], f"{shipped.n_parameters(BART):,}")


def shown(page: Page) -> Shown:
    src, read = Text(page).read(NOISE.of(page), int(SHARE.of(page)), page.number("seed", 1, 20, SEED))
    rows, columns = ([bert.entry(id) for id in ids] for ids in (read.labels, (*src, EOS)))
    name = f"decoder.layers.{read.config['n_layers'] - 1}.cross_attn.average"
    return common.shown_tensor(page, name, kind="cross", rows=rows, columns=columns, oracle=read)


def see(page: Page) -> Statements:
    yield NOISE.drawn(page)
    yield SHARE.drawn(page)
    yield claims.slider("Seed", 1, 20, page.number("seed", 1, 20, SEED))
    matrix = shown(page)
    said = bert.tokenizer().decode([id for id in matrix.oracle.labels if id >= len(bert.NAMES)])
    yield from prose("where does the decoder", inline(said) or "–")
    yield from common.tensor_matrix(matrix, **prose.words("matrix"))
    yield from prose("another seed tears other", Text(page).said)


def tear_further(page: Page) -> Statements:
    yield from prose("how torn may your", DRAWS)
    text = Text(page)
    shares = np.stack([text.come_back(kind, int(SHARE.of(page))) for kind in KINDS]) / text.n
    means, errors = shares.mean(1), np.sqrt(shares.var(1) / (DRAWS - 1))
    series = [Series(name, means[:, n], errors[:, n]) for n, name in enumerate(("torn", "restored"))]
    yield from common.chart_and_numbers("noise", list(KINDS), series, limit=1.0, **prose.words("chart"))
    yield from prose("a dot is the", DRAWS, SHARE.of(page))


def unseen(page: Page) -> Statements:
    test = shipped.metrics(BART)["test"]
    yield from prose("how well does it", f"{test['share']:.0%}")
    rows, far, turned = [], [], number(test["kinds"]["rotation"]["noisy"]["bleu"], 2)
    for kind, name in KINDS.items():
        both = [test["kinds"][name][when] for when in ("noisy", "restored")]
        more = both[1]["bleu"] - both[0]["bleu"]
        far += [kind] * (more >= 15)
        scores = (f"{number(one['bleu'], 2)} ± {number(one['standard_error'], 2)}" for one in both)
        rows.append((kind, *scores, number(more, 2)))
    yield claims.table("noise | BLEU, torn | BLEU, restored | gain", *rows)
    yield from prose("we wished for points", ", ".join(far) or "none", f"{test['texts']:,}", turned)


def predict(page: Page) -> Statements:
    text = Text(page)
    yield prose.question("infill hides of your", 1, round(0.3 * text.n), text.n, text.n + 1)
    found = [int(text.come_back(kind)[:, 1].sum()) for kind in ("mask", "delete")]
    right = 2 if found[0] == found[1] else int(found[1] > found[0])
    yield prose.question("of your text is", right, DRAWS, *(number(100 * one / DRAWS / text.n, 1) for one in found))


do = TRIAL.trials(unseen, tear_further)
code = common.code_of("training/loop/noise.py: infill", "experiments/family/restoring.py: restored, in_order")
