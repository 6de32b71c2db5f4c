"""Lesson: an encoder alone, a decoder alone, and both: what each may see, and what each puts out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from experiments.family.language_models import read_text
from experiments.family.three_kinds import Ids, may_see, scores_from_the_left
from figures.statistics import softmax
from model.families.decoder_only import DecoderOnly
from model.families.encoder_decoder import EncoderDecoder
from model.families.encoder_only import EncoderOnly
from model.files.loaded_model import TRANSLATOR
from model.text.tokenizer import CLS, CLS_ID, MASK, MASK_ID, SEP, SEP_ID
from model.trace import Trace, most_tokens, read
from pages.family_models import ADDED, BERT, GPT, family_model, finished
from pages.family_scenes import arches, likeliest, looks, named
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.components.scene import Card, Cards, Frame, Link, Row, Scene, State
from ui.components.scene.answer import quoted
from ui.controls.control import Choice
from ui.controls.piece_control import choose_part, current_part
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Ask, Question
from ui.text import bold, chance, magnitude, piece
from ui.views.charts.tables import table

ENCODER, DECODER, BOTH = KINDS = ("Encoder alone", "Decoder alone", "Encoder and decoder")
KIND = Choice("Kind", "kind", KINDS)
DRAWN = 10  # rows of a mask, of each text
SHOWN = 3  # guesses
SCENE = 10  # pieces in the scene, of each text
WORKED = 6  # probabilities that Check works out
OTHER_END = "and nobody saw it."
MAX_END = 300  # characters of another end


@dataclass(frozen=True)
class Gap:
    """The text as pieces of the vocabulary that BERT and GPT share, and the one that is asked for."""

    ids: Ids
    texts: tuple[str, ...]
    at: int
    n_cut: int = 0

    def by_bert(self) -> Trace:
        before, behind = self.ids[: self.at], self.ids[self.at + 1 :]
        return engine.run(read, family_model(BERT), (CLS_ID, *before, MASK_ID, *behind, SEP_ID))

    def chances(self) -> dict[str, np.ndarray]:
        """The probability of every entry (V) at the gap, by the kind of model."""
        left = engine.run(scores_from_the_left, family_model(GPT), self.ids, self.at)
        return {ENCODER: softmax(self.by_bert().tensors["logits"][self.at + 1]), DECODER: softmax(left)}

    def gained(self) -> float:
        """By how much both sides are surer of the right piece than the left alone."""
        both, left = (float(chances[self.ids[self.at]]) for chances in self.chances().values())
        return both - left


def gap_of(trace: Trace, draw: bool = False) -> Gap:
    loaded = family_model(BERT)
    every = loaded.tokenizer.encode(finished(trace.text))
    ids = tuple(every[: most_tokens(loaded)])
    texts = tuple(token.text for token in loaded.tokenizer.tokens(ids))
    control = ("A piece to ask for", texts, clearest(ids, texts), trace.text, "gap")
    at = choose_part(*control) if draw else current_part(len(texts), *control[2:])
    return Gap(ids, texts, at, len(every) - len(ids))


def read_by_gpt(trace: Trace) -> Trace:
    return engine.run(read_text, family_model(GPT), finished(trace.text))


def places(ids: Ids) -> range:
    """Of the pieces in the scene; where it can be, each has others on both sides."""
    n = min(len(ids), SCENE)
    return range(1, n - 1) or range(n)


def clearest(ids: Ids, texts: Sequence[str]) -> int:
    """Where both sides gain most over the left alone."""
    return max(places(ids), key=lambda n: (Gap(ids, tuple(texts), n).gained(), -n))


def scene(trace: Trace) -> Scene:
    """Each piece asked for in turn: what the three models look at, and their likeliest guesses."""
    gap = gap_of(trace)
    reading = read_by_gpt(trace)
    asked = places(gap.ids)
    frames = [scene_frame(trace, reading, Gap(gap.ids, gap.texts, at)) for at in asked]
    return Scene(
        "Three kinds of model read your sentence. A line shows how much the last layer looks, its heads averaged. "
        "Struck through: a piece that the model may not see." + f" {ADDED}" * (finished(trace.text) != trace.text),
        "The piece asked for",
        frames,
        by="slider",
        start=clearest(gap.ids, gap.texts) - asked[0],
        wide=(2.6, 1),
    )


def scene_frame(trace: Trace, reading: Trace, gap: Gap) -> Frame:
    n, at, right = min(len(gap.ids), SCENE), gap.at, gap.ids[gap.at]
    bert, chances = gap.by_bert(), gap.chances()
    step = min(at, len(trace.labels) - 1)
    source, written = trace.src[:SCENE], trace.labels[:step][1 - SCENE :]
    both = looks(bert, "encoder.self_attn", at + 1)[1 : n + 1]
    left = looks(reading, "decoder.self_attn", at)[1 : at + 1]
    cross = looks(trace, "decoder.cross_attn", step)[: len(source)]
    one, other = (float(chances[kind][right]) for kind in (ENCODER, DECODER))
    german = softmax(trace.tensors["logits"][step])
    slots = max(n, len(source), min(len(trace.labels), SCENE))

    def lane(hidden: str, behind: State) -> list[Card]:
        return [
            Card(hidden, "asked") if i == at else Card(text, behind if i > at else "")
            for i, text in enumerate(gap.texts[:n])
        ]

    lanes = (
        Cards([Row(lane(MASK, ""), ENCODER)], arches(both, at), slots=slots),
        Cards([Row(lane("?", "unseen"), DECODER, "output")], arches(left, at, "output"), slots=slots),
        Cards(
            [
                Row([Card(token.text) for token in source], BOTH, "value"),
                Row([*(Card(token.text, "written") for token in written), Card("?", "asked")], "", "output"),
            ],
            [Link((0, i), (1, len(written)), float(w), "value") for i, w in enumerate(cross)],
            slots=slots,
        ),
    )
    guesses = (
        likeliest(chances[ENCODER], named, "query", right),
        likeliest(chances[DECODER], named, "output", right),
        likeliest(german, trace.model.tokenizer.token_text, "value", trace.label_ids[step]),
    )
    return Frame(
        piece(gap.texts[at]),
        f"**Both sides** give “{quoted(gap.texts[at])}” **{chance(one)}**, **the left alone** {chance(other)}. The "
        "translator has a whole other text to read.",
        list(zip(lanes, guesses, strict=True)),
    )


def guesses(chances: np.ndarray) -> str:
    """The likeliest entries and their probabilities."""
    best = np.argsort(-chances, kind="stable")[:SHOWN]
    return " · ".join(f"“{piece(named(int(id)))}” {chance(float(chances[id]))}" for id in best)


def idea(trace: Trace) -> None:
    st.markdown(
        "The Transformer of 2017 has an encoder and a decoder. Many later models keep only one half. An **encoder "
        "alone** sees the whole text at once. A **decoder alone** sees only what stands before. With **both**, the "
        "decoder also sees the whole input text."
    )
    with st.expander("Who is who"):
        table(
            ("kind", "models", "learns by", "good for", "cannot"),
            [
                (ENCODER, "BERT, RoBERTa, ALBERT", "naming masked words", "judging texts and words", "write by itself"),
                (DECODER, "GPT, CTRL", "naming the next word", "writing on", "use what comes later"),
                (BOTH, "the translator, MASS, BART, T5", "writing a text for a text", "translating, summarising", "–"),
            ],
        )
        st.caption(
            "MASS, BART and T5 are first trained to restore a text from which words or phrases were taken. An encoder "
            "alone can be given a part that writes, and a decoder's rows can be used to judge a text; neither was made "
            "for that."
        )


def see(trace: Trace) -> None:
    st.markdown("**One text, three models: what does each put out?**")
    gap = gap_of(trace, draw=True)
    if gap.n_cut:
        st.info(f"BERT and GPT read the first {len(gap.ids)} pieces of this text: the last {gap.n_cut} are left out.")
    chances = gap.chances()
    before, behind = gap.at, len(gap.ids) - gap.at - 1
    with st.container(key="kinds_said"):
        table(
            ("", "sees of your text", "puts out", "for your text"),
            [
                (ENCODER, f"{before} before, {behind} after", "guesses for a masked piece", guesses(chances[ENCODER])),
                (DECODER, f"{before} before", "guesses for the next piece", guesses(chances[DECODER])),
                (BOTH, "all", "another text", trace.translation or "(nothing)"),
            ],
        )
    right = gap.ids[gap.at]
    st.markdown(
        f"The piece asked for is {bold(piece(gap.texts[gap.at]))}: the encoder alone gives it "
        f"**{chance(float(chances[ENCODER][right]))}**, the decoder alone **{chance(float(chances[DECODER][right]))}**."
    )
    st.caption("The three are BERT, GPT and the translator, all small and trained for this app.")
    mask_of(trace, gap, KIND.draw())


def mask_of(trace: Trace, gap: Gap, kind: str) -> None:
    """Who may see whom, from the scores of the model's first layer."""
    if kind == ENCODER:
        seen, names = may_see(gap.by_bert(), ("encoder",), DRAWN), [CLS, *gap.texts, SEP]
        names[gap.at + 1] = MASK
        says = "A row is a piece that looks. Every piece sees every piece, to its left and to its right."
    elif kind == DECODER:
        reading = read_by_gpt(trace)
        seen, names = may_see(reading, ("decoder",), DRAWN), [token.text for token in reading.tgt]
        says = "A row is a piece that looks. It sees itself and what stands before it."
    else:
        seen = may_see(trace, ("encoder", "decoder", "cross"), DRAWN)
        names = [token.text for some in (trace.src, trace.tgt) for token in some[:DRAWN]]
        says = (
            "First the rows of your text: they see all of it. Then those of the translation: they see all of your "
            "text, and of the translation what is written so far."
        )
    names = names[: len(seen)]
    matrix(
        seen.astype(np.float32),
        Labels(names, names, describe="“{row}” may see “{column}”: {value}"),
        Caption(f"{kind}: who may see whom", says, csv_name=f"mask {kind}"),
        key="kinds_mask",
        hidden=~seen,
        scale=Scale("weight", digits=0),
    )
    st.caption(f"1: may see; hatched: hidden. Shown are the first {DRAWN} pieces of a text at most.")


def check(trace: Trace) -> None:
    kind, gap = KIND.value(), gap_of(trace)
    reading, row, what = {
        ENCODER: (gap.by_bert(), gap.at + 1, "masked piece"),
        DECODER: (read_by_gpt(trace), gap.at, "next piece"),
        BOTH: (trace, 0, "first piece"),
    }[kind]
    best = [int(id) for id in np.argsort(-reading.tensors["logits"][row], kind="stable")[:WORKED]]
    names = [token.text for token in reading.model.tokenizer.tokens(best)]
    shown = checked_matrix(
        reading,
        "probabilities",
        Caption(f"{kind}: {what}", "The likeliest pieces and their probabilities, by softmax over the vocabulary."),
        labels=Labels([what], names),
        part=Part(rows=[row], columns=best),
        scale=Scale("weight"),
        start=(0, 0),
    )
    check_cell(shown)


def do(trace: Trace) -> None:
    gap = gap_of(trace)
    st.markdown(
        f"**Write another end.** It takes the place of all that comes after {bold(piece(gap.texts[gap.at]))}. Which "
        "of the three notices?"
    )
    typed = st.text_input("Another end", OTHER_END, key="three_end", bind="query-params")
    loaded = family_model(BERT)
    end = loaded.tokenizer.encode((typed or "")[:MAX_END].strip()) if (typed or "").strip() else []
    kept = gap.ids[: gap.at + 1]
    ids = (*kept, *end)[: most_tokens(loaded)]
    other = Gap(ids, tuple(map(named, ids)), gap.at)
    text = loaded.tokenizer.decode(ids)
    translation = engine.trace(text).translation
    before, after = gap.chances(), other.chances()
    st.markdown(f"They read: {bold(text)}")
    with st.container(key="kinds_end"):
        pairs = [(kind, one, after[kind]) for kind, one in before.items()]
        lines = [(kind, guesses(one), guesses(two), magnitude(difference(one, two))) for kind, one, two in pairs]
        lines.append((BOTH, trace.translation or "(nothing)", translation or "(nothing)", "–"))
        table(("", "your text", "with the other end", "largest difference"), lines)
    st.caption(
        "The largest difference between the probabilities of any piece at the place asked for. A decoder alone cannot "
        "notice: what comes after is hidden from that row."
    )


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """The largest of any entry; rounding is none."""
    largest = float(np.abs(one - other).max())
    return largest if largest > 1e-5 else 0.0


WHOLE = Question(
    "whole",
    "Which kind reads one text with one stack, and writes another with a second one?",
    KINDS,
    frozenset({2}),
    "The encoder reads the one text, and the decoder looks at it at every step.",
    wrong={0: "It sees a whole text, but it writes none.", 1: "It writes, but it has one stack alone."},
)


def predict(trace: Trace) -> Sequence[Ask]:
    return WHOLE, partial(likelier, trace)


def likelier(trace: Trace) -> Question:
    gap = gap_of(trace)
    chances = gap.chances()
    one, other = (float(chances[kind][gap.ids[gap.at]]) for kind in (ENCODER, DECODER))
    right = 0 if one >= other else 1
    return Question(
        "likelier",
        f"Ask both for {bold(piece(gap.texts[gap.at]))} (piece {gap.at + 1}): BERT sees both sides of it, GPT the left "
        "side alone. Which of them finds it likelier?",
        ("BERT", "GPT"),
        frozenset({right}),
        f"BERT gives it {chance(one)}, GPT {chance(other)}. To see more is no promise: the two are other models, "
        "trained in other ways.",
        wrong={1 - right: "It is the other way round."},
    )


LESSON = Lesson(
    "three-kinds",
    "Three kinds of model",
    asks="Who may look where?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do),
    code=(EncoderOnly, DecoderOnly, EncoderDecoder, may_see),
    on_map=OnMap(readers=(BERT, GPT, TRANSLATOR), scene=scene),
)
