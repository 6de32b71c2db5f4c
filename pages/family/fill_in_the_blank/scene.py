"""The first screen: a blank, and what each other word of the sentence is worth to BERT."""

from dataclasses import replace

from experiments.family.fill_in import without_each
from model.text.tokenizer import MASK
from model.trace import Trace
from pages.family.fill_in_the_blank.blanks import SCENE, Blanks, opened
from pages.family.fill_in_the_blank.both_sides import Guess, name_of
from pages.family_models import ADDED, BERT, family_model
from ui import engine
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Link, Role, Row, Scene
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
    right, name = blanks.ids[place], piece(blanks.tokens[place].text)
    others = [n for n in range(min(len(blanks.words), SCENE)) if n != own]
    groups = tuple(blanks.words[n] for n in others)
    each, whole = engine.run(without_each, family_model(BERT), blanks.ids, blanks.places, place, groups)
    left = dict(zip(others, each, strict=True))
    told = min(others, key=lambda n: left[n]) if others else own
    row = [
        Card(MASK, "asked", blanks.word(n))
        if n == own
        else Card(blanks.word(n), "strong" if n == told else "", chance(left[n]))
        for n in range(len(others) + 1)
    ]
    links = [Link((0, n), (0, own), max(0.0, 1 - left[n] / whole)) for n in others]
    both, blind = Guess(blanks.from_both_sides(place), right), Guess(blanks.from_the_left(place), right)
    more = replace(blanks, hidden=tuple(sorted({own, told})))
    says = f"BERT gives “{name}” **{chance(both.chance)}**, GPT **{chance(blind.chance)}**. "
    if told == own or left[told] >= whole:
        says += "No other word tells BERT: without any of them it finds this one as likely, or likelier."
    else:
        looks = (
            "comes after the blank, where GPT cannot look" if told > own else "stands before it, where GPT looks, too"
        )
        says += f"Hide “{piece(blanks.word(told))}”, too, and BERT gives **{chance(left[told])}**. That word {looks}."
    return Frame(
        piece(blanks.word(own)),
        says,
        [
            [Cards([Row(row)], links, title="Below each word: the probability without it")],
            [
                guesses(both, "BERT, from both sides", "query"),
                guesses(
                    Guess(more.from_both_sides(place), right),
                    f"BERT without “{piece(blanks.word(told))}”" if told != own else "BERT",
                    "query",
                    both.chance,
                ),
                guesses(blind, "GPT, from the left", "output"),
            ],
        ],
    )


def guesses(guess: Guess, title: str, role: Role, before: float | None = None) -> Bars:
    """The likeliest pieces and the right one, which may have had another probability before."""
    best = guess.best[:LIKELIEST]
    ids = best if guess.right in best else [*best[:-1], guess.right]
    return Bars(
        [
            Bar(
                name_of(family_model(BERT), id),
                float(guess.chances[id]),
                chance(float(guess.chances[id])),
                before if id == guess.right else None,
                strong=id == guess.right,
            )
            for id in ids
        ],
        title,
        role,
    )
