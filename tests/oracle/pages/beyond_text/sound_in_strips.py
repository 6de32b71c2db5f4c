"""What the lesson on sound must show."""

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
    Stops,
    addresses,
    check_cell,
    code_of,
    shown_tensor,
    tensor_matrix,
)
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.pages.beyond_text.a_picture_as_words import ink, share
from tests.oracle.passes import shipped, sound
from tests.oracle.passes.sound import Patches, Strips
from tests.oracle.shown.frame import INSTEAD, UNKEPT

prose = Prose("sound_in_strips")

STATES = addresses(
    "",
    "digits=12&voice=Theo&stop=3&cell=4.2&rewrite=4.3&see=patches: where it looks&map=1.3",
    "digits=a4 b0x9c1&stop=1&try=Silence patches&silent=20.3.99.x",
    "digits=x&voice=Nobody&try=Silence patches&see=patches: where it looks&map=9.9&cell=3.41",
    "digits=999999&voice=Yweweler&stop=7&try=Known and new voices&rewrite=1.99",
    "sound=a tone&stop=99&cell=2.9",
    "sound=your voice&digits=8&rewrite=12.1",
    "digits=56341&voice=Lucas&rewrite=1.1",  # all paths together favour what was said, the likeliest path does not
    "sound=a file&try=Known and new voices",
)
KIND = Choice("Sound", "sound", ("digits", "your voice", "a file", "a tone"))
VOICE = Stops("Voice", "voice", sound.VOICES)
SEE = Choice("What to see", "see", ("strips: their scores", "patches: where it looks"))
TRY = Choice("Try", "try", ("Rewrite a strip", "Silence patches", "Known and new voices"))
SIGNS = ["–", *map(str, range(10))]
UNKEPT["sound-in-strips"] = "what you said"


def digits(page: Page) -> str:
    return "".join(one for one in page.state.get("digits", "133") if one in "0123456789")[:5] or "133"


def wave(page: Page) -> np.ndarray:
    return sound.glide(8000) if KIND.of(page) == "a tone" else sound.said(digits(page), VOICE.at(page))


def one_digit(page: Page) -> tuple[np.ndarray, str]:
    """What a reader of one digit hears, and what that is called."""
    if KIND.of(page) == "a tone":
        return wave(page), prose.line("the loudest second")
    return sound.said(digits(page)[0], VOICE.at(page)), prose.line("the first digit", digits(page)[0])


def asks(page: Page) -> Statements:
    """What is heard, in place of the sentence."""
    yield KIND.drawn(page)
    match KIND.of(page):
        case "digits":
            yield claims.text_box("Digits, up to 5", page.state.get("digits", "133"))
            yield VOICE.drawn(page)
        case "your voice":
            yield claims.control("audio_input", prose.line("say digits in english"), value=None)
            yield from prose("the first seconds of")
            return
        case "a file":
            yield claims.control("file_uploader", prose.line("a recording as a"), value=None)
            yield from prose("the first seconds are")
            return
    yield Statement("audio", {})
    if KIND.at(page) == 0 and page.state.get("digits", "133") != digits(page):
        yield from prose("a voice says up", words(digits(page)))


INSTEAD["sound-in-strips"] = asks


def words(heard: Any) -> str:
    return " ".join(map(str, heard)) or "nothing"


def scene(page: Page) -> Statements:
    read = Strips(wave(page))
    n = len(read.chances)
    stops = [round(n * step / 8) for step in range(9)]
    frames = [scene_frame(page, read, upto) for upto in stops]
    frames[0]["rows"][0][0] |= lent(page, read)
    looks: dict[str, Any] = {"by": "slider", "wide": (2.6, 1), "plays": True}
    yield from screen.scene(page, prose.line("sound a wave and"), "Strips read out", frames, 8, **looks)


def lent(page: Page, read: Strips) -> dict[str, Any]:
    """The spectrogram, highest pitch first, and how loud each moment is, which the first frame lends the others."""
    drawn, heard = read["spectrogram"], np.abs(wave(page))
    parts = [heard[128 * at : 128 * at + 128] for at in range(drawn.shape[1])]
    loud = np.array([part.max(initial=0) for part in parts])
    return {"ink": ink(drawn[::-1]), "high": 40, "loud": ink(loud / loud.max())}


def scene_frame(page: Page, read: Strips, upto: int) -> dict[str, Any]:
    n, path = len(read.chances), read.chances.argmax(-1).tolist()
    found = words(sound.heard(path[:upto]))
    bars = sound.outcomes(read.chances[:upto])[:4]
    best = words(bars[0][0])
    says = prose.line("of strips so far", upto, n, found)
    if upto == 0:
        says = prose.line("the sound is strips", n)
    elif upto == n:
        says = prose.line("equal neighbours fall together", found)
        if best != found:
            says += " " + prose.line("all paths together favour", best)
        if KIND.of(page) != "a tone":
            right = words(digits(page)) == found
            says += " " + (prose.line("that is right") if right else prose.line("the voice said", words(digits(page))))
    cards, at = [], 0
    for entry in dict.fromkeys(range(upto)):  # each group begins where its entry is another than the one before
        if entry == 0 or path[entry] != path[entry - 1]:
            at = entry
            if path[entry]:
                cards.append([at, at, SIGNS[path[entry]]])
        elif path[entry]:
            cards[-1][1] = entry
    strips = [[SIGNS[one], screen.near(read.chances[at, one])] for at, one in enumerate(path)]
    told = {"kind": "heard", "upto": upto, "wide": 4, "blank": "–", "strips": strips, "cards": cards}
    return screen.frame(
        f"{upto} of {n}",
        says,
        [
            told | prose.words("the wave and how"),
            screen.bars(
                [screen.bar(words(one), p, chance(p), strong=at == 0) for at, (one, p) in enumerate(bars)],
                role="query",
                **prose.words("all paths that come"),
            ),
        ],
    )


def chosen(page: Page) -> tuple[int, int]:
    return page.pair("map", (3, 4), (2, 0))


def shown(page: Page) -> Shown:
    if SEE.at(page) == 0:
        strips: Any = Strips(wave(page))
        scores, rows = strips["logits"], range(len(strips["logits"]))
        sure = int(scores[:, 1:].max(1).argmax())
        names: dict[str, Any] = {"rows": [str(n + 1) for n in rows], "columns": SIGNS, "only_rows": rows}
        return shown_tensor(page, "logits", oracle=strips, start=(sure, int(scores[sure].argmax())), **names)
    patches: Any = Patches(one_digit(page)[0])
    (layer, head), rows = chosen(page), range(42)
    name, texts = f"encoder.layers.{layer}.self_attn.weights", ["[class]", "[distilled]", *map(str, range(1, 41))]
    both: dict[str, Any] = {"rows": texts, "columns": texts, "only_rows": rows, "only_columns": rows}
    most = int(patches[name][head, 0].argmax())
    return shown_tensor(page, name, head=head, kind="encoder", oracle=patches, start=(0, most), **both)


def see(page: Page) -> Statements:
    yield SEE.drawn(page)
    if SEE.at(page) == 0:
        yield from tensor_matrix(shown(page), **prose.words("scores of each strip"))
        return
    read, (layer, head) = Patches(one_digit(page)[0]), chosen(page)
    looks = np.stack([read[f"encoder.layers.{n}.self_attn.weights"][:, 0, 2:] for n in range(3)]).reshape(3, 4, 5, 8)
    title = prose.line("where class looks a")
    yield claims.head_grid(looks[:, :, ::-1] / looks.max(), selected=(layer, head), title=title, mean=False)
    yield from tensor_matrix(shown(page), **prose.words("weights of layer head", layer + 1, head + 1))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def rewrite(page: Page) -> Statements:
    chances = Strips(wave(page)).chances
    n, path = len(chances), chances.argmax(-1).tolist()
    entry, strip = page.pair("rewrite", (11, n), (0, -1))
    yield from prose("click a cell that")
    yield claims.matrix(
        chances.T,
        SIGNS,
        [str(at + 1) for at in range(n)],
        **prose.words("what each strip says"),
        csv_name="strips",
        scale="weight",
        selected=None if strip < 0 else (entry, strip),
        describe="Strip {column} says {row}: {value}",
    )
    found = words(sound.heard(path))
    if strip >= 0 and entry == path[strip]:
        yield from prose("strip says already", strip + 1, SIGNS[entry], found)
    elif strip >= 0:
        now = words(sound.heard([*path[:strip], entry, *path[strip + 1 :]]))
        yield from prose("strip says not it", strip + 1, SIGNS[entry], SIGNS[path[strip]], now, found)
    together = dict(sound.outcomes(chances))[tuple(sound.heard(path))]
    yield from prose("this one path has", chance(chances.max(-1).prod()), found, chance(together))
    yield from prose("what if there were", words(sound.heard([1 + one for one in chances[:, 1:].argmax(-1)])))


def silence(page: Page) -> Statements:
    heard, called = one_digit(page)
    silent = frozenset(at for at in range(1, 41) if str(at) in page.state.get("silent", "").split("."))
    before, after = Patches(heard).chances[0], Patches(heard, silent=silent).chances[0]
    was, now = int(before.argmax()), int(after.argmax())
    yield from prose("which patches does the", called, was)
    left = [Patches(heard, silent=silent | {at}).chances[0, was] for at in range(1, 41)]
    yield claims.matrix(
        np.flipud(np.array(left).reshape(5, 8)),
        [f"pitches {at}–{at + 7}" for at in range(33, 0, -8)],
        [f"moments {at}–{at + 7}" for at in range(1, 64, 8)],
        **prose.words("how likely is without", was, chance(after[was])),
        csv_name="silenced",
        scale="weight",
        hidden=np.flipud(np.array([at in silent for at in range(1, 41)]).reshape(5, 8)),
        hatched=prose.line("silent"),
        describe="Patch {name} silent: {value}",
        value_names=[[str(8 * row + column) for column in range(1, 9)] for row in range(4, -1, -1)],
    )
    if silent:
        listed = ", ".join(map(str, sorted(silent)))
        yield from prose("silent it names with", listed, now, chance(after[now]), was, chance(before[was]))
    else:
        yield from prose("nothing is silent it", was, chance(before[was]))


def voices(page: Page) -> Statements:
    kept = shipped.metrics("sounds")
    test, names = kept["test"], [name.capitalize() for name in kept["never_heard"]]
    yield from prose("does it understand a", " and ".join(names), one_digit(page)[1])
    rows, lines = [], prose.words("rows of voices")
    for name, tested in (("voices", lines["all"]), ("new-voice", lines["one"])):
        found = Patches(one_digit(page)[0], name).chances[0]
        tested = tested.format(test[name][2], names[0])
        reads = f"{found.argmax()}, {chance(found.max())}"
        rows.append((lines[name], tested, share(test[name]), reads))
    yield claims.table(prose.line("head of voices"), *rows)
    yield from prose(
        "the reader of strips", kept["in_a_row"]["rows"], kept["in_a_row"]["digits"], share(test["joined"])
    )


do = TRY.trials(rewrite, silence, voices)


def predict(page: Page) -> Statements:
    test = shipped.metrics("sounds")["test"]
    yield prose.question("eight strips say which", 1)
    yield prose.question("a strip has moments", 1)
    (known, one, _), (new, other, _) = test["voices"], test["new-voice"]
    apart = abs(known - new) >= 2 * (one**2 + other**2) ** 0.5
    right = (2 if known > new else 0) if apart else 1
    yield prose.question("a reader learned digits", right, number(100 * new, 1), number(100 * known, 1))


code = code_of(
    "model/sound/spectrogram.py: spectrogram",
    "model/sound/ctc.py: collapsed, chance_of",
    "model/families/sounds.py: StripReader, SpectrogramTransformer",
)
