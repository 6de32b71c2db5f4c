"""The first screen: a blank, and what each other word of the sentence is worth to BERT."""

from dataclasses import replace

from experiments.family.fill_in import without_each
from model.text.tokenizer import MASK
from model.trace import Trace
from pages.family.fill_in_the_blank.blanks import SCENE, Blanks, opened
from pages.family_models import ADDED, BERT, family_model
from pages.family_scenes import likeliest, named
from ui import engine
from ui.components.scene import Card, Cards, Frame, Link, Row, Scene
from ui.components.scene.answer import quoted
from ui.text import chance, piece

LIKELIEST = 4  # guesses in a panel of bars


def scene(trace: Trace) -> Scene:
    """Each word hidden in turn; the lines say how much of its probability is lost if another one is hidden as well."""
    first = opened(trace)
    added = f" {ADDED}" * first.is_ended
    return Scene(
        f"BERT fills in the blank. The more its guess loses when a word is hidden, too, the thicker that line.{added}",
        "Click the word to hide",
        [frame(replace(first, hidden=(n,))) for n in range(min(len(first.words), SCENE))],
        by="cards",
        start=first.hidden[0],
    )


def frame(blanks: Blanks) -> Frame:
    (own,), place = blanks.hidden, blanks.places[0]
    right = blanks.ids[place]
    others = [n for n in range(min(len(blanks.words), SCENE)) if n != own]
    groups = tuple(blanks.words[n] for n in others)
    each, whole = engine.run(without_each, family_model(BERT), blanks.ids, blanks.places, place, groups)
    left = dict(zip(others, each, strict=True))
    told = min(others, key=lambda n: left[n], default=own)
    helps = told if others and left[told] < whole else None
    row = [
        Card(MASK, "asked", blanks.word(n))
        if n == own
        else Card(blanks.word(n), "strong" if n == helps else "", chance(left[n]))
        for n in range(len(others) + 1)
    ]
    links = [Link((0, n), (0, own), max(0.0, 1 - left[n] / whole)) for n in others]
    more = replace(blanks, hidden=tuple(sorted({own, told})))
    both, fewer, blind = blanks.from_both_sides(place), more.from_both_sides(place), blanks.from_the_left(place)
    without = f"BERT without “{piece(blanks.word(told))}”" if others else "BERT"
    gives = chance(float(both[right])), chance(float(blind[right])), chance(left.get(told, whole))
    return Frame(
        piece(blanks.word(own)),
        says(blanks, helps, gives),
        [
            [Cards([Row(row)], links, title="Below each word: the probability without it")],
            [
                likeliest(both, named, "query", right, LIKELIEST, "BERT, from both sides"),
                likeliest(fewer, named, "query", right, LIKELIEST, without, float(both[right])),
                likeliest(blind, named, "output", right, LIKELIEST, "GPT, from the left"),
            ],
        ],
    )


def says(blanks: Blanks, helps: int | None, gives: tuple[str, str, str]) -> str:
    """Args: helps: the word that tells BERT most; gives: what BERT, GPT, and BERT without that word give"""
    name = quoted(blanks.tokens[blanks.places[0]].text)
    both = f"BERT gives “{name}” **{gives[0]}**, GPT **{gives[1]}**. "
    if helps is None:
        return (
            f"{both}No other single word here helps BERT: hide any one of them, too, and it finds this one as likely, "
            "or likelier."
        )
    behind = helps > blanks.hidden[0]
    looks = "comes after the blank, where GPT cannot look" if behind else "stands before it, where GPT looks, too"
    word = quoted(blanks.word(helps))
    return f"{both}Hide “{word}”, too, and BERT gives **{gives[2]}**. That word {looks}."
