"""The GPT goes on where the learner's text ends: step by step, another piece forced, drawn at random."""

import re
from dataclasses import dataclass

import numpy as np
import streamlit as st

from experiments.family.three_kinds import scores_from_the_left
from experiments.writing.sampling import narrowed_at
from model.decoding.strategies import Decoding, Greedy, Sampling
from model.text.tokenizer import EOS, EOS_ID, Token
from model.trace import Trace, most_tokens
from pages.family.gpt.reading import gpt, read
from pages.family_models import GPT, LONGER, goes_on
from ui import engine
from ui.components.theatre import Scene, Strip, theatre
from ui.controls.address import read_count, write_count
from ui.controls.chosen_pieces import ChosenPieces, Ids
from ui.controls.control import Number, Switch
from ui.course.sentence import KEY as SENTENCE
from ui.text import bold, chance, in_markdown, piece
from ui.views.narrowed_step import narrowed_chart, narrowed_numbers

OPENINGS = ("Once upon a time there was a little girl who", "The old man looked at the sea and")
SHOWN = 40  # characters of the text, from its end, that the theatre shows
TEMPERATURE = Number("Temperature", "gpt_temperature", 0.0, 2.0, 0.0, 0.1)
TOP_K = Number("Top-k (0: all)", "gpt_top_k", 0, 50, 0)
STEP, SEED = "gpt_at", "gpt_seed"
CHANCE = Number("Seed", SEED, 0, 9999, 0)
PREFIX = ChosenPieces("gpt_prefix")
FINAL_MARK = re.compile(r"[.!?…。！？]+[\"'”’»)\]]*$")
MAY_STOP = Switch("Let it stop", "gpt_stop")
TRIED = 200  # of the likeliest pieces, to find a word among them


@dataclass(frozen=True)
class Continuation:
    """What was written behind a text.

    whole: the trace of both; n: how many pieces the text has; first: those that it had to write first, not chosen by
           the learner
    """

    whole: Trace
    n: int
    first: Ids

    @property
    def labels(self) -> tuple[Token, ...]:
        return self.whole.labels[self.n :]

    @property
    def text(self) -> str:
        return self.whole.model.tokenizer.decode([token.id for token in self.labels])

    def candidates(self, step: int) -> list[tuple[int, float]]:
        """Ids and probabilities of the likeliest pieces, best first, and of the one written if it is none of them."""
        likeliest = [(one.id, one.probability) for one in self.whole.steps[self.n + step].candidates]
        id = self.labels[step].id
        return likeliest if id in dict(likeliest) else [*likeliest, (id, self.whole.probabilities[self.n + step])]

    def yours(self, prefix: Ids) -> list[bool]:
        """For each piece written, whether the learner fixed it and it is not the likeliest."""
        return [
            t < len(prefix)
            and self.candidates(t)[0][0] != label.id
            and prefix[t] == label.id
            and self.first[t : t + 1] != (label.id,)
            for t, label in enumerate(self.labels)
        ]


def without_mark(text: str) -> str:
    """A text without the mark that ends it; the whole text if it is nothing but that."""
    return FINAL_MARK.sub("", text).rstrip() or text


def opening(text: str) -> tuple[str, Ids]:
    """What to go on from, so that there is something to read: the text without its final mark; and the likeliest word,
    if the likeliest piece is none.

    Raises: CheckpointError
    """
    text, tokenizer = without_mark(text), gpt().tokenizer
    ids = tuple(tokenizer.encode(text))
    if len(ids) >= most_tokens(gpt()):
        return text, ()
    scores = engine.run(scores_from_the_left, gpt(), ids, len(ids))
    likeliest = [int(id) for id in np.argsort(-scores, kind="stable")[:TRIED]]
    word = next((id for id in likeliest if tokenizer.tokens([id])[0].text.isalpha()), likeliest[0])
    return text, () if word == likeliest[0] else (word,)


def picture(trace: Trace) -> Trace:
    """The text and what is written behind it, as the scene shows it. Raises: CheckpointError"""
    return goes_on(*opening(read(trace).text))


def _type(text: str) -> None:
    st.session_state[SENTENCE] = text


def openings() -> None:
    """Beginnings to take, one click away."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="gpt_openings"):
        st.markdown("Begin with:", width="content")
        for number, text in enumerate(OPENINGS):
            st.button(text + " …", key=f"gpt_opening{number}", on_click=_type, args=(text,), type="tertiary")


def decoding(temperature: float, top_k: int, seed: int, longest: int, prefix: Ids) -> Decoding:
    if temperature == 0:
        return Greedy(longest, prefix)
    return Sampling(temperature, top_k, 1.0, seed, longest, prefix)


def draw_again() -> None:
    st.session_state[SEED] = (st.session_state[SEED] + 1) % 10_000


def choose(written: Continuation, step: int, id: int) -> None:
    """Write this piece at this step, and let the model go on."""
    PREFIX.write((*(token.id for token in written.labels[:step]), id))
    write_count(STEP, step + 1, 1)


def write_on(trace: Trace) -> None:
    reading = read(trace)
    most = most_tokens(reading.model)
    st.markdown(
        "Where your text ends, the GPT goes on. It takes a piece, reads it as if it were yours, and takes the next. "
        "**Temperature** 0 takes the likeliest. Above 0 a piece is drawn by chance: the higher, the more daring. "
        "**Top-k** lets it draw from the k likeliest alone."
    )
    openings()
    text, given = choose_opening(reading.text)
    n = len(reading.model.tokenizer.encode(text))
    if n >= most:
        st.info(f"Your text fills all {most} places of this GPT: shorten it, and it goes on writing.")
        return
    first, second, third, fourth = st.columns([1, 1, 0.6, 0.6], gap="medium", vertical_alignment="bottom")
    with first:
        temperature = TEMPERATURE.draw()
    with second:
        top_k = TOP_K.draw()
    with third:
        seed = CHANCE.draw()
    with fourth:
        st.button("Draw again", key="gpt_draw_again", on_click=draw_again, disabled=temperature == 0)
    chosen, note = PREFIX.read(text, reading.model.config.vocab_size)
    longest = min(n + LONGER, most)
    prefix = (chosen or given)[: longest - n]
    if note:
        st.warning(note)
    how = decoding(temperature, top_k, seed, longest, prefix)
    written = Continuation(engine.trace(text, decoding=how, name=GPT), n, given)
    step = min(read_count(STEP, 1000, 1) or 1, len(written.labels)) - 1
    st.markdown(f"It goes on: {bold(written.text.strip() or '(nothing)')}")
    stage(written, prefix, step)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Back to the model's own choice",
            key="gpt_own_choice",
            on_click=PREFIX.write,
            args=((),),
            disabled=not chosen,
        )
        st.markdown(ended(written, prefix))
    if temperature > 0:
        drawn_from(written, step, (temperature, top_k), step < len(prefix))


def choose_opening(text: str) -> tuple[str, Ids]:
    """What the learner lets it go on from: see `opening`; or the text as it stands."""
    shorter, first = opening(text)
    does = ["goes on without your final mark"] * (shorter != text)
    if first:
        word = gpt().tokenizer.tokens(first)[0].text
        does.append(f"takes the likeliest word first, {bold(word)}")
    if not does:
        return text, ()
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown(f"So that it does not stop at once, it {' and '.join(does)}.", width="content")
        return (text, ()) if MAY_STOP.draw() else (shorter, first)


def ended(written: Continuation, prefix: Ids) -> str:
    chosen = [written.labels[t] for t, mark in enumerate(written.yours(prefix)) if mark]
    says = "Fixed by you: " + ", ".join(bold(piece(token.text)) for token in chosen) + ". " if chosen else ""
    if written.labels[-1].id == EOS_ID:
        return f"{says}It wrote {in_markdown(EOS)}, the sign that ended each text it learned from."
    return f"{says}It was stopped after {len(written.labels)} pieces."


def stage(written: Continuation, prefix: Ids, step: int) -> None:
    """The theatre, which begins with the whole text as its first piece."""
    whole, n = written.whole, written.n
    layer = whole.model.config.n_layers
    looks = whole.attention("decoder", layer - 1).mean(0)  # (T,T)
    text = whole.text if len(whole.text) <= SHOWN else f"…{whole.text[-SHOWN:]}"

    def scene(t: int) -> Scene:
        row, offered = looks[n + t], written.candidates(t)
        names = [token.text for token in whole.model.tokenizer.tokens([id for id, _ in offered])]
        return Scene(
            [],
            [float(row[: n + 1].sum()), *row[n + 1 : n + t + 1].tolist()],
            [(name, p) for name, (_, p) in zip(names, offered, strict=True)],
            [id for id, _ in offered].index(written.labels[t].id),
        )

    theatre(
        [scene(t) for t in range(len(written.labels))],
        None,
        Strip(
            [text, *(token.text for token in written.labels)],
            "Your text, and what is written after it. Shade and number: how much this step looks at it (layer "
            f"{layer}, average of its heads).",
            yours=[False, *written.yours(prefix)],
        ),
        key="gpt_theatre",
        step=step,
        on_step=lambda t: write_count(STEP, t + 1, 1),
        on_candidate=lambda t, n: choose(written, t, written.candidates(t)[n][0]),
    )


def drawn_from(written: Continuation, step: int, how: tuple[float, int], given: bool) -> None:
    """The probabilities of a step, and what temperature and top-k make of them."""
    temperature, top_k = how
    probabilities, kept = narrowed_at(written.whole, written.n + step, temperature, top_k, 1.0)
    ids = [id for id, _ in written.candidates(step)]
    names = [token.text for token in written.whole.model.tokenizer.tokens(ids)]
    narrowed_chart(step, names, probabilities[ids], kept[ids])
    label = written.labels[step]
    before, after = (chance(float(values[label.id])) for values in (probabilities, kept))
    st.markdown(
        f"At step {step + 1} it draws from **{int((kept > 0).sum()):,}** of {len(kept):,} entries. "
        + ("This piece was fixed, not drawn: " if given else "It drew ")
        + f"{bold(piece(label.text))}, {before} before and {after} after."
    )
    narrowed_numbers(names, probabilities[ids], kept[ids])
