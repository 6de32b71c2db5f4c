"""What the lesson on two towers must show."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import (
    Choice,
    Shown,
    Statements,
    addresses,
    check_cell,
    code_of,
    shown_tensor,
    tensor_matrix,
)
from tests.oracle.language.page import Page
from tests.oracle.language.scene import near
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import inline, visible
from tests.oracle.pages.beyond_text.a_picture_as_words import share
from tests.oracle.passes import clip, shipped
from tests.oracle.shown.frame import INSTEAD

prose = Prose("pictures_meet_words")

FIRST, FIRST_CLASSES, FIRST_PICTURE = "a fast red car", "animal, food, vehicle, face", "station"
TRY = Choice("Try", "try", ("Rows and columns", "A picture’s words", "Your own classes", "How often it is right"))
OTHERS = (
    ("the puppy", "dog face"),
    ("a red fruit", "red apple"),
    ("a cold winter day", "snowman"),
    ("the king and queen", "crown"),
    ("a present for you", "wrapped gift"),
    ("hot coffee", "hot beverage"),
)
STATES = addresses(
    "",
    "words=the PUPPY&stop=1&try=A picture’s words&picture=pizza&cold=0&cell=0.0&map=1.4",
    "words=Zorgle the gröbfant, blorbing* splonks of\tkwyx&stop=99&try=Your own classes&classes=dog, 🙂&map=9.9",
    "words=🙂 !!&try=Your own classes&classes=a *sweet* thing,b,c,d,e,f,g&cold=3&picture=donkey (never seen)",
    f"words={'red hot ' * 250}&try=How often it is right&cell=2.3&map=1.2",
    "words=&try=Your own classes&classes=only one,only one",
    "words=the&try=A picture’s words&picture=x&cold=7",
    "words=dog, cat!&try=Rows and columns&cold=2",
)


def typed(page: Page) -> str:
    return page.state.get("words", FIRST)[:20000].strip()


def read(page: Page) -> str:
    return typed(page) if clip.all_words(typed(page)) else FIRST


def said(page: Page) -> str:
    """What is said of the words that were typed."""
    text = typed(page)
    if not text:
        return prose.line("there are no words")
    words, n = clip.words(text), len(text.split())
    if not words:
        return prose.line("none among these signs")
    parts = [prose.line("it reads words at most", n, inline(words[-1]))] if n > 12 and len(words) == 12 else []
    unknown = [word for word in dict.fromkeys(words) if word not in clip.known_words()]
    if unknown:
        named = ", ".join(f"“{inline(word)}”" for word in unknown[:3])
        more = prose.line("and more", len(unknown) - 3) if len(unknown) > 3 else ""
        parts.append(prose.line("on no picture that", named, more))
    return " ".join(parts)


def asks(page: Page) -> Statements:
    yield claims.text_box("Type any words", page.state.get("words", FIRST))
    if said(page):
        yield claims.info(said(page))


INSTEAD["pictures-meet-words"] = asks


def named(name: str) -> int:
    (at,) = (n for n, one in enumerate(clip.emoji()) if one.name == name)
    return at


def found(page: Page) -> tuple[list[int], np.ndarray]:
    return clip.nearest(clip.texts(read(page))[0], clip.vectors(), 5)


def batch(page: Page) -> tuple[list[str], list[int], np.ndarray]:
    """Texts, the picture of each, and all cosines."""
    own = found(page)[0][0]
    others = [(text, named(name)) for text, name in OTHERS if named(name) != own][:5]
    texts, pictures = [read(page), *(text for text, _ in others)], [own, *(n for _, n in others)]
    return texts, pictures, clip.texts(*texts) @ clip.vectors()[pictures].T


def over(cosines: np.ndarray, cold: float) -> np.ndarray:
    """Softmax of each row."""
    powers = np.exp((cosines - cosines.max(-1, keepdims=True)) / cold)
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def stops() -> list[tuple[str, float]]:
    learned = clip.temperature()
    fixed = [(f"{one:g}", one) for one in (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01) if abs(one - learned) > 0.004]
    return sorted([*fixed, (f"{learned:.3f}, as learned", learned)], key=lambda stop: -stop[1])


def opens() -> int:
    return [cold for _, cold in stops()].index(clip.temperature())


def field(texts: Sequence[str], pictures: Sequence[int], shares: np.ndarray, **words: str) -> dict[str, Any]:
    told = {
        "kind": "field",
        "texts": [visible(text if len(text) < 41 else text[:39] + "…") for text in texts],
        "pictures": [str(n) for n in pictures],
    }
    return told | {"shares": [[near(one) for one in row] for row in shares]} | words


def finds(many: Sequence[tuple[str, float, str, str, bool]], of: str = "", **words: str) -> dict[str, Any]:
    """many: name, share, note, picture and whether it is spoken of"""
    told = [[visible(name), near(p), chance(p, 2), note, picture, strong] for name, p, note, picture, strong in many]
    return {"kind": "finds", "of": of, "finds": told} | words


def with_pictures(shown: Iterator[Statement], pictures: Sequence[int]) -> Iterator[Statement]:
    """A scene that shows these."""
    for one in shown:
        yield replace(one, content=one.content | {"pictures": {str(n): clip.address(n) for n in pictures}})


def scene(page: Page) -> Statements:
    frames = [scene_frame(page, *stop) for stop in stops()]
    caption = prose.line("clip pictures and words", f"{len(clip.emoji()):,}")
    looks: dict[str, Any] = {"by": "slider", "wide": (1.35, 1), "plays": True}
    shown = screen.scene(page, caption, "Temperature", frames, opens(), **looks)
    yield from with_pictures(shown, sorted({*batch(page)[1], *found(page)[0]}))


def scene_frame(page: Page, stop: str, cold: float) -> dict[str, Any]:
    texts, pictures, cosines = batch(page)
    shares, (which, near_by) = over(cosines, cold), found(page)
    mine, others = chance(shares[0, 0], 2), number(np.mean([shares[n, n] for n in range(1, 6)]), 2)
    rows = [
        (
            clip.emoji()[n].name,
            p,
            prose.line("seen" if clip.emoji()[n].learned else "never seen", number(cosine, 2)),
            str(n),
            at == 0,
        )
        for at, (n, p, cosine) in enumerate(zip(which, over(near_by, cold), near_by, strict=True))
    ]
    return screen.frame(
        stop,
        prose.line("your words give", clip.emoji()[pictures[0]].name, mine, chance(over(near_by, cold)[0], 2), others),
        [
            field(texts, pictures, shares, **prose.words("softmax over each row")),
            finds(rows, **prose.words("nearest to your words")),
        ],
    )


def shown(page: Page) -> Shown:
    oracle: Any = clip.read(read(page))
    _, head = page.pair("map", (1, 4), (0, 0))
    words = clip.words(read(page))
    looks: dict[str, Any] = {"rows": words, "columns": words, "kind": "encoder", "oracle": oracle}
    return shown_tensor(page, "encoder.layers.0.self_attn.weights", head=head, **looks)


def see(page: Page) -> Statements:
    maps = shown(page).oracle["encoder.layers.0.self_attn.weights"][None]
    chosen = page.pair("map", (1, 4), (0, 0))
    yield claims.head_grid(maps, selected=chosen, title=prose.line("where the text tower"), mean=False)
    yield from tensor_matrix(shown(page), **prose.words("weights of layer head", chosen[1] + 1))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def tried(
    page: Page,
    caption: str,
    pictures: Sequence[int],
    frame: Callable[[str, float], dict[str, Any]],
    wide: Sequence[float] = (1,),
) -> Statements:
    """A scene of Do along the temperatures."""
    frames = [frame(*stop) for stop in stops()]
    told: dict[str, Any] = {"caption": caption, "control": "Temperature", "by": "slider", "plays": False, "press": ""}
    at = page.number("cold", 0, len(frames) - 1, opens())
    told |= {"wide": list(wide), "frames": frames, "at": at}
    yield from with_pictures(iter([Statement("scene", told)]), pictures)


def both_sides(page: Page) -> Statements:
    yield from prose("the loss asks both")
    texts, pictures, cosines = batch(page)

    def frame(stop: str, cold: float) -> dict[str, Any]:
        rows, columns = over(cosines, cold), over(cosines.T, cold).T
        losses = [-np.log(side.diagonal()).sum() / 6 for side in (rows, columns)]
        says = prose.line("mean of ln p", *(number(one, 3) for one in (*losses, sum(losses) / 2)))
        sides = ((rows, "by rows"), (columns, "by columns"))
        return screen.frame(stop, says, [field(texts, pictures, of, **prose.words(run)) for of, run in sides])

    yield from tried(page, prose.line("the same cosines shared"), pictures, frame, (1, 1))


def picture(page: Page) -> tuple[list[str], int]:
    """What one may take, and which is taken."""
    names = [one.name if one.learned else f"{one.name} (never seen)" for one in clip.emoji()]
    asked = page.state.get("picture", "")
    return names, names.index(asked) if asked in names else named(FIRST_PICTURE)


def take(page: Page) -> Statements:
    names, at = picture(page)
    yield claims.select("Picture", names, names[at])


def compared(
    page: Page, caption: str, panel: str, rows: Sequence[tuple[str, float, bool]], says: Callable[[str], str]
) -> Statements:
    """rows: name, cosine, whether it is spoken of; says: the answer, given the largest share"""
    _, n = picture(page)

    def frame(stop: str, cold: float) -> dict[str, Any]:
        shares = over(np.array([cosine for _, cosine, _ in rows]), cold)
        told = [
            (name, p, prose.line("seen", number(cosine, 2)), "", strong)
            for (name, cosine, strong), p in zip(rows, shares, strict=True)
        ]
        return screen.frame(stop, says(chance(shares.max(), 2)), [finds(told, str(n), **prose.words(panel))])

    yield from tried(page, caption, [n], frame)


def words_of_picture(page: Page) -> Statements:
    yield from prose("take a picture which")
    yield from take(page)
    _, n = picture(page)
    taken, known = clip.emoji()[n], clip.known_words(3)
    which, cosines = clip.nearest(clip.vectors()[n], clip.of_known_words(3), 6)
    rows = [(known[at], cosine, known[at] in taken.words) for at, cosine in zip(which, cosines, strict=True)]
    lived = prose.line("it learned this" if taken.learned else "it never saw this")
    says = prose.line("of are words that", sum(strong for *_, strong in rows), taken.name, lived)
    caption = prose.line("a picture and the", f"{len(known):,}")
    yield from compared(page, caption, "nearest words", rows, lambda sure: says)


def classes(page: Page) -> tuple[list[str], str]:
    given = [" ".join(one.split()) for one in page.state.get("classes", FIRST_CLASSES)[:500].split(",") if one.strip()]
    first = FIRST_CLASSES.split(", ")
    wordless = [one for one in given if not clip.all_words(one)]
    if wordless:
        return first, prose.line("a class needs a", inline(wordless[0]))
    if len({*given}) < 2:
        return first, prose.line("sorting needs two")
    return given[:6], prose.line("it sorts into six", len(given)) if len(given) > 6 else ""


def own_classes(page: Page) -> Statements:
    yield from prose("name classes and it")
    yield from take(page)
    yield claims.text_box("Classes, with commas between", page.state.get("classes", FIRST_CLASSES))
    (names, fault), (_, n) = classes(page), picture(page)
    if fault:
        yield claims.info(fault)
    cosines = clip.texts(*names) @ clip.vectors()[n]
    best = int(cosines.argmax())
    rows = [(name, cosine, at == best) for at, (name, cosine) in enumerate(zip(names, cosines, strict=True))]
    told = clip.emoji()[n].name, visible(names[best])
    caption = prose.line("a picture and classes")
    yield from compared(page, caption, "your classes", rows, lambda sure: prose.line("it sorts into", *told, sure))


def how_often(page: Page) -> Statements:
    test = shipped.metrics("clip")["test"]
    yield from prose("as measured how often")
    rows = [
        (
            prose.line(name),
            share(test[name]["found"]),
            number(100 * test[name]["chance"], 1),
            f"{test[name]['pictures']:,}",
        )
        for name in ("known", "new words", "unseen")
    ]
    yield claims.table(prose.line("head of the table"), *rows)
    known, unseen = (number(100 * test[name]["found"][0], 0) for name in ("known", "unseen"))
    yield from prose("the gap between", known, unseen, f"{test['known']['pictures']:,}")


do = TRY.trials(both_sides, words_of_picture, own_classes, how_often)


def predict(page: Page) -> Statements:
    yield prose.question("a batch has", 1)
    yield prose.question("does it tell", 1)
    cosines = batch(page)[2]
    warm = np.mean([over(row, 1.0)[n] for n, row in enumerate(cosines)])
    right = int(warm > 0.5)
    yield prose.question("temperature", right, number(warm, 2), wrong={1 - right: prose.line("pull the slider")})
    test = shipped.metrics("clip")["test"]
    known, unseen = (100 * test[name]["found"][0] for name in ("known", "unseen"))
    half, third = 0.75 * known, known / 3
    right = 0 if unseen >= half else 1 if unseen >= third else 2
    now, high, low = (number(one, 1) for one in (unseen, half, third))
    runs = ("that would be more", high, now), ("that would be from", low, high, now), ("that would be less", low, now)
    faults = {k: prose.line(*run) for k, run in enumerate(runs) if k != right}
    yield prose.question("by their names it", right, prose.line("of those", number(known, 1), now), wrong=faults)


code = code_of("model/families/two_towers.py: words_of, TextTower, TwoTowers, contrastive_loss")
