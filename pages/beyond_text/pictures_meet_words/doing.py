"""Do: both sides of the matrix, a picture's words, classes of one's own, how often it is right."""

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from experiments.pictures.meeting import nearest, shared_out
from model.families.two_towers import words_of
from model.files.load_clip import clip_metrics, emoji, known_words, picture_vectors
from model.files.loaded_model import Array
from model.trace import Trace
from pages.beyond_text.pictures_meet_words.scene import (
    addresses,
    batch,
    batch_cosines,
    label,
    learned_stop,
    temperatures,
    vectors,
)
from pages.patches import share
from ui.components.scene import Frame, Scene
from ui.components.scene import scene as draw_scene
from ui.components.scene.emoji import Field, Find, Finds
from ui.controls.address import read_count, write_count
from ui.controls.control import Choice
from ui.text import chance, in_markdown, number, piece
from ui.views.charts.tables import table

TRIAL = Choice("Try", "try", ("Rows and columns", "A picture’s words", "Your own classes", "How often it is right"))
COLD = "cold"  # in the address: the stop of the temperature, from 0
PICTURE, CLASSES = "picture", "classes"
MOST_CLASSES, N_WORDS, OFTEN = 6, 6, 3  # OFTEN: learned pictures that a word must have been met with
Says = Callable[[str], str]
FIRST_PICTURE, FIRST_CLASSES = "station", "animal, food, vehicle, face"


def do(trace: Trace) -> None:
    tried: dict[str, Callable[[], None]] = {
        "Rows and columns": both_sides,
        "A picture’s words": words_of_picture,
        "Your own classes": own_classes,
        "How often it is right": how_often,
    }
    tried[TRIAL.draw()]()


def _along_temperatures(
    caption: str, pictures: Sequence[int], frame: Callable[[str, float], Frame], wide: Sequence[float] = (1,)
) -> None:
    frames = [frame(stop, value) for stop, value in temperatures()]
    shown = Scene(caption, "Temperature", frames, by="slider", wide=wide, pictures=addresses(pictures))
    opens = learned_stop()
    at = read_count(COLD, len(frames), opens)
    draw_scene(shown, key="tried", at=at, on_move=lambda n: write_count(COLD, n, opens))


def both_sides() -> None:
    st.markdown(
        "**The loss asks both sides.** Each row asks: which picture belongs to this text? Each column asks: which text "
        "belongs to this picture? Both want the diagonal."
    )
    (texts, pictures), cosines = batch(), batch_cosines()
    rows, names = [label(text) for text in texts], [str(n) for n in pictures]

    def frame(stop: str, cold: float) -> Frame:
        sides = [shared_out(cosines, cold, axis) for axis in (1, 0)]
        losses = [float(-np.log(np.diag(side)).mean()) for side in sides]
        return Frame(
            stop,
            f"Mean of −ln P along the diagonal: {number(losses[0], 3)} by rows, {number(losses[1], 3)} by columns. The "
            f"loss of this batch is their mean, **{number(sum(losses) / 2, 3)}**.",
            [
                [
                    Field(rows, names, sides[0], "By rows", "each row adds up to 1"),
                    Field(rows, names, sides[1], "By columns", "each column adds up to 1"),
                ]
            ],
        )

    _along_temperatures("The same cosines, shared out by rows and by columns.", pictures, frame, (1, 1))


def _chosen() -> int:
    """The picture that the visitor takes."""
    names = [one.name + ("" if one.learned else " (never seen)") for one in emoji()]
    first = [one.name for one in emoji()].index(FIRST_PICTURE)
    return names.index(st.selectbox("Picture", names, first, key=PICTURE, bind="query-params"))


def _compared(
    n: int, caption: str, finds: Sequence[tuple[str, float, bool]], panel: tuple[str, str], says: Says
) -> None:
    """A picture beside what it was compared with: of each its name, its cosine, and whether it is spoken of.

    panel: its title and note; says: the answer, given the largest share
    """
    cosines = np.array([cosine for _, cosine, _ in finds])

    def frame(stop: str, cold: float) -> Frame:
        shares = shared_out(cosines, cold).tolist()
        bars = [
            Find(name, share, chance(share, 2), f"cosine {number(cosine, 2)}", strong=strong)
            for (name, cosine, strong), share in zip(finds, shares, strict=True)
        ]
        return Frame(stop, says(chance(max(shares), 2)), [[Finds(bars, *panel, str(n))]])

    _along_temperatures(caption, [n], frame)


def words_of_picture() -> None:
    st.markdown(
        f"**Take a picture. Which words are nearest?** Of all that it learned with at least {OFTEN} pictures, each "
        "read alone."
    )
    n = _chosen()
    taken, known = emoji()[n], known_words(OFTEN)
    near = nearest(picture_vectors()[n], vectors(known), N_WORDS)
    names = [known[which] for which in near.which]
    own = [name in taken.words for name in names]
    seen = "It learned this picture with its words." if taken.learned else "It never saw this picture."
    _compared(
        n,
        f"A picture, and the nearest of {len(known):,} words.",
        [*zip(names, near.cosines.tolist(), own, strict=True)],
        ("Nearest words", f"bold: used for it; softmax over these {N_WORDS}"),
        lambda sure: f"People use **{sum(own)} of these {N_WORDS}** for “{taken.name}”. {seen}",
    )


def classes() -> tuple[tuple[str, ...], str]:
    """The classes that are read, and what the visitor should know of them."""
    typed = str(st.session_state.get(CLASSES, st.query_params.get(CLASSES, FIRST_CLASSES)))[:500]
    given = [*{one.lower(): one for one in (" ".join(part.split()) for part in typed.split(",")) if one}.values()]
    wordless = next((one for one in given if not words_of(one)), None)
    shown = f"Shown is “{FIRST_CLASSES}”."
    default = tuple(FIRST_CLASSES.split(", "))
    if wordless is not None:
        return default, f"A class needs a word: “{in_markdown(wordless)}” has none. {shown}"
    if len(given) < 2:
        return default, f"Sorting needs two different classes at least, with a comma between them. {shown}"
    if len(given) > MOST_CLASSES:
        return tuple(
            given[:MOST_CLASSES]
        ), f"It sorts into {MOST_CLASSES} classes at most: the first of your {len(given)}."
    return tuple(given), ""


def own_classes() -> None:
    st.markdown(
        "**Name classes, and it sorts a picture into them.** It was never trained to sort. It takes the class whose "
        "words lie nearest to the picture: *zero-shot* classification."
    )
    n = _chosen()
    st.text_input("Classes, with commas between", FIRST_CLASSES, key=CLASSES, bind="query-params", live="300ms")
    names, said = classes()
    if said:
        st.info(said)
    cosines: Array = vectors(names) @ picture_vectors()[n]
    best = int(cosines.argmax())
    _compared(
        n,
        "A picture, and classes that you name.",
        [(name, float(cosine), at == best) for at, (name, cosine) in enumerate(zip(names, cosines, strict=True))],
        ("Your classes", "softmax over your classes"),
        lambda sure: f"It sorts “{emoji()[n].name}” into **{piece(names[best])}**, {sure}.",
    )


def how_often() -> None:
    test = clip_metrics()["test"]
    rest = len(emoji()) - test["known"]["pictures"] - test["unseen"]["pictures"]
    st.markdown(
        "**As measured.** How often, in percent, the right picture is among the five nearest to a text, with the "
        "standard error:"
    )
    told = (
        ("known", "pictures it learned from, by their names"),
        ("new words", "the same, by three keywords that none of its texts joins"),
        ("unseen", "pictures it never saw, by their names"),
    )
    table(
        ("text and picture", "found", "by chance", "pictures"),
        [
            (words, share(test[name]["found"]), number(100 * test[name]["chance"], 1), f"{test[name]['pictures']:,}")
            for name, words in told
        ],
    )
    st.markdown(
        f"The gap between {number(100 * test['known']['found'][0], 0)}% and "
        f"{number(100 * test['unseen']['found'][0], 0)}% is **overfitting**: what it learned of its own pictures "
        f"carries over to others only in part. It had {test['known']['pictures']:,} pictures; CLIP had "
        "400 million."
    )
    st.caption(
        "Each picture was looked for among those of its own row of the table. Texts of other pictures may join two of "
        f"the three keywords. The other {rest:,} of {len(emoji()):,} were kept for choosing how to train. It "
        "learned names and keywords, not sentences: how it does with sentences was not measured. One training, with "
        "one seed: how much another would differ was not measured."
    )
