"""The first screen: the visitor's words among five other texts, against six pictures; and the five nearest pictures."""

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import streamlit as st

from experiments.pictures.meeting import Nearest, nearest, of_batch, shared_out, text_vectors
from model.families.two_towers import MOST_WORDS, words_of
from model.files.load_clip import (
    emoji,
    known_words,
    load_text_tower,
    picture_file,
    picture_vectors,
    temperature,
)
from model.files.loaded_model import Array
from model.trace import Trace
from ui import engine
from ui.components.scene import Frame, Scene
from ui.components.scene.emoji import Field, Find, Finds
from ui.text import chance, in_markdown, number

KEY, FIRST = "words", "a fast red car"
MOST_CHARACTERS, MOST_SHOWN = 20_000, 40
N_NEAREST, N_NAMED = 5, 3  # pictures that are found; unknown words that are named
# Texts beside the visitor’s, and the picture of each; the last is for who finds one of those before it.
OTHERS = (
    ("the puppy", "dog face"),
    ("a red fruit", "red apple"),
    ("a cold winter day", "snowman"),
    ("the king and queen", "crown"),
    ("a present for you", "wrapped gift"),
    ("hot coffee", "hot beverage"),
)
STOPS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)


def typed() -> str:
    return str(st.session_state.get(KEY, st.query_params.get(KEY, FIRST)))[:MOST_CHARACTERS].strip()


def words() -> str:
    """What was typed, if there are words in it, else what stood there at first."""
    return typed() if words_of(typed()) else FIRST


def words_box() -> None:
    st.text_input("Type any words", FIRST, key=KEY, bind="query-params", live="300ms")
    if said := notice(typed()):
        st.info(said)


def notice(text: str) -> str:
    """What the visitor should know of these words; nothing if all of them are read and known."""
    if not text:
        return f"There are no words yet: type what you look for. Shown is “{FIRST}”."
    read = words_of(text)
    if not read:
        return f"It reads words, and there are none among these signs. Shown is “{FIRST}”."
    said = []
    if (n := len(text.split())) > MOST_WORDS and len(read) == MOST_WORDS:
        last = in_markdown(label(read[-1]))
        said.append(f"It reads {MOST_WORDS} words at most: of your {n}, the last that it reads is “{last}”.")
    if unknown := [word for word in dict.fromkeys(read) if word not in known_words()]:
        named = ", ".join(f"“{in_markdown(label(word))}”" for word in unknown[:N_NAMED])
        more = f" and {len(unknown) - N_NAMED} more" if len(unknown) > N_NAMED else ""
        said.append(
            f"On no picture that it learned from: {named}{more}. What it makes of such a word comes from other texts, "
            "or from its letters."
        )
    return " ".join(said)


def vectors(texts: tuple[str, ...]) -> Array:
    """A vector for each text, of length 1."""
    return engine.run(text_vectors, load_text_tower(), texts)


def found(text: str) -> Nearest:
    """The pictures nearest to a text."""
    return nearest(vectors((text,))[0], picture_vectors(), N_NEAREST)


def batch() -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Six texts, the visitor's first, and the picture of each; the visitor's is the one that is nearest."""
    names = [one.name for one in emoji()]
    own = found(words()).which[0]
    others = [(text, names.index(name)) for text, name in OTHERS if names.index(name) != own][: len(OTHERS) - 1]
    return (words(), *(text for text, _ in others)), (own, *(n for _, n in others))


def batch_cosines() -> Array:
    """(texts, pictures)"""
    return engine.run(of_batch, load_text_tower(), *batch())


def addresses(pictures: Iterable[int]) -> dict[str, str]:
    """What a browser shows of each picture, by its number."""
    return {str(n): f"data:image/png;base64,{b64encode(picture_file(n)).decode()}" for n in pictures}


def temperatures() -> list[tuple[str, float]]:
    """Stops of a slider, with what they are called: from 1 to the coldest, and the learned one among them."""
    learned = temperature()
    stops = sorted({*(one for one in STOPS if abs(one - learned) > 0.004), learned}, reverse=True)
    return [(f"{number(one, 3)}, as learned" if one == learned else f"{one:g}", one) for one in stops]


def learned_stop() -> int:
    return [value for _, value in temperatures()].index(temperature())


def note_of(n: int, cosine: float) -> str:
    """What stands beside a picture that was found."""
    return f"cosine {number(cosine, 2)}{'' if emoji()[n].learned else ', never seen'}"


def label(text: str) -> str:
    """A text in as many signs as the field has room for."""
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def scene(trace: Trace) -> Scene:
    shown = Scene(
        f"CLIP: pictures and words as vectors in one space. First, how each text is shared out among six pictures. "
        f"Then the five of {len(emoji()):,} pictures that are nearest to your words.",
        "Temperature",
        [scene_frame(stop, value) for stop, value in temperatures()],
        by="slider",
        start=learned_stop(),
        wide=(1.35, 1),
        plays=True,
        also=words,
    )
    return replace(shown, pictures=addresses({*batch()[1], *found(words()).which}))


def scene_frame(stop: str, cold: float) -> Frame:
    texts, pictures = batch()
    shares, near = shared_out(batch_cosines(), cold), found(words())
    others = float(np.diag(shares)[1:].mean())
    field = Field(
        [label(text) for text in texts],
        [str(n) for n in pictures],
        shares,
        "Softmax over each row: each text asks all six pictures",
        "framed: its own picture; in your row the nearest",
    )
    bars = [
        Find(emoji()[n].name, float(share), chance(float(share), 2), note_of(n, float(cosine)), str(n), at == 0)
        for at, (n, cosine, share) in enumerate(
            zip(near.which, near.cosines, shared_out(near.cosines, cold), strict=True)
        )
    ]
    says = (
        f"Your words give “{emoji()[pictures[0]].name}” **{chance(float(shares[0, 0]), 2)}** of these six, and "
        f"**{bars[0].text}** of the five nearest. The other texts give their own pictures **{number(others, 2)}** on "
        "average. By chance it would be 0.17."
    )
    return Frame(stop, says, [[field, Finds(bars, "Nearest to your words", "softmax over these five")]])
