"""One blank, guessed twice: by BERT from both sides, by GPT from the left alone."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from model.files.loaded_model import LoadedModel
from model.text.tokenizer import MASK
from model.trace import Trace
from pages.family.fill_in_the_blank.blanks import HIDDEN, WHICH, Blanks, choose_blank, choose_words, opened
from pages.family_models import BERT, family_model
from ui.course.sentence import KEY as SENTENCE
from ui.text import bold, chance
from ui.views.charts.bars import bars

SHOWN = 5  # guesses of each model
EXAMPLES = {  # sentences, each with the number of the word that is hidden
    "The bird flew out of the window.": 4,
    "The old man and the old woman had no children.": 6,
    "It has been raining since yesterday.": 2,
}


@dataclass(frozen=True)
class Guess:
    """What a model says of one blank. chances: of every entry (V); right: the entry that is hidden"""

    chances: np.ndarray
    right: int

    @property
    def chance(self) -> float:
        return float(self.chances[self.right])

    @property
    def rank(self) -> int:
        """1 if no entry is likelier."""
        return 1 + int((self.chances > self.chance).sum())

    @property
    def best(self) -> list[int]:
        """The likeliest entries."""
        return [int(id) for id in np.argsort(-self.chances, kind="stable")[:SHOWN]]

    def shown(self) -> list[int]:
        """The likeliest entries, and the right one behind them if it is not among them."""
        return self.best + [self.right] * (self.right not in self.best)


def name_of(loaded: LoadedModel, id: int) -> str:
    return loaded.tokenizer.tokens([id])[0].text


def examples() -> None:
    """Sentences with a blank, one click away."""

    def take(sentence: str, word: int) -> None:
        st.session_state[SENTENCE] = sentence
        st.query_params[HIDDEN] = str(word)
        st.query_params.pop(WHICH, None)

    with st.container(horizontal=True, gap="small", key="blank_examples"):
        for n, (sentence, word) in enumerate(EXAMPLES.items()):
            words = sentence.split()
            words[word - 1] = MASK
            st.button(" ".join(words), key=f"blank_example{n}", type="tertiary", on_click=take, args=(sentence, word))


def see(trace: Trace) -> None:
    st.markdown("**What stands in the blank?** Hide words of your own sentence, or take one of these:")
    examples()
    blanks = choose_words(opened(trace))
    if not blanks.hidden:
        st.info("There is no blank to fill: click a word to hide it.")
        return
    if len(blanks.hidden) == len(blanks.words):
        st.info("Every word is hidden: BERT has nothing to go by but how many pieces there are.")
    place = choose_blank(blanks)
    both = Guess(blanks.from_both_sides(place), blanks.ids[place])
    left = Guess(blanks.from_the_left(place), blanks.ids[place])
    sides, limit = st.columns(2), float(max(both.chances.max(), left.chances.max()))
    for column, guess, who in zip(sides, (both, left), ("BERT, from both sides", "GPT, from the left"), strict=True):
        with column:
            st.markdown(f"**{who}**")
            loaded = family_model(BERT)
            names = [f"{name_of(loaded, id)}{' ✓' if id == guess.right else ''}" for id in guess.shown()]
            bars(names, [float(guess.chances[id]) for id in guess.shown()], f"{who}: the likeliest pieces", limit)
    st.markdown(verdict(blanks, place, both, left))
    with st.expander("What each of them reads"):
        st.markdown(
            "BERT reads all pieces but the hidden ones, and fills all blanks at once. Its text stands between two "
            "marks, [CLS] and [SEP], so your first piece is row 2. GPT reads the true pieces before this blank, also "
            "those under other blanks, and nothing after it. ✓ marks the hidden piece. Both are small models of this "
            f"app with the same {len(both.chances):,} pieces."
        )


def verdict(blanks: Blanks, place: int, both: Guess, left: Guess) -> str:
    """What the two say of the hidden piece, in words."""
    says = (
        f"The hidden piece is {bold(blanks.tokens[place].text)}. Among {len(both.chances):,} pieces BERT ranks it "
        f"**{both.rank:,}** (probability {chance(both.chance)}), GPT **{left.rank:,}** ({chance(left.chance)})."
    )
    if both.chance > left.chance:
        says += f" BERT finds it {both.chance / left.chance:,.1f} times as likely as GPT does."
    else:
        says += f" GPT finds it {left.chance / both.chance:,.1f} times as likely as BERT does."
    if all(later in blanks.places for later in range(place, len(blanks.ids))):
        return says + " BERT sees nothing to the right of this blank, so it sees no word that GPT does not."
    if place == 0:
        return says + " GPT sees nothing at all here: it guesses how a text begins."
    return says + f" Only BERT sees what stands to the right: {bold(right_of(blanks, place))}"


def right_of(blanks: Blanks, place: int) -> str:
    """The words behind a piece as BERT sees them."""
    first = blanks.word_at(place) + 1
    words = ["…" if n in blanks.hidden else blanks.word(n) for n in range(first, len(blanks.words))]
    return " ".join(words[:8]) + " …" * (len(words) > 8)
