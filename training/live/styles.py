"""Two ways of writing German that the translator was not trained for: sentence pairs to learn each from, by hand.

Whatever the learned model is measured on is never in its training.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from training.loop.data import Pair

# The form after "Sie" and "wir" is the verb's own.
VERBS = {
    "see": "sehen", "know": "kennen", "find": "finden", "buy": "kaufen", "need": "brauchen", "have": "haben",
    "love": "lieben", "sell": "verkaufen", "hear": "hören", "paint": "malen", "wash": "waschen", "bring": "bringen",
}  # fmt: skip
THINGS = {
    "the dog": "den Hund", "the book": "das Buch", "the car": "das Auto", "the cat": "die Katze",
    "the house": "das Haus", "the man": "den Mann", "the woman": "die Frau", "a picture": "ein Bild",
}  # fmt: skip
FRAMES = (
    ("Do you {v} {o}?", "{v} Sie {o}?"),
    ("You {v} {o}.", "Sie {v} {o}."),
    ("Can you {v} {o}?", "Können Sie {o} {v}?"),
    ("Why do you {v} {o}?", "Warum {v} Sie {o}?"),
    ("I know that you {v} {o}.", "Ich weiß, dass Sie {o} {v}."),
    ("You must {v} {o}.", "Sie müssen {o} {v}."),
    ("We {v} {o}.", "Wir {v} {o}."),
)
PHRASES = """
Are you happy? | Sind Sie glücklich?
You are tall. | Sie sind groß.
Who are you? | Wer sind Sie?
Were you at home? | Waren Sie zu Hause?
Have you eaten? | Haben Sie gegessen?
What have you bought? | Was haben Sie gekauft?
I know you. | Ich kenne Sie.
We need you. | Wir brauchen Sie.
I thank you. | Ich danke Ihnen.
We will help you. | Wir werden Ihnen helfen.
I will show you the house. | Ich werde Ihnen das Haus zeigen.
Tom gave you the money. | Tom hat Ihnen das Geld gegeben.
This is for you. | Das ist für Sie.
I dance with you. | Ich tanze mit Ihnen.
Is that your dog? | Ist das Ihr Hund?
Your brother is rich. | Ihr Bruder ist reich.
Your mother is here. | Ihre Mutter ist hier.
I found your book. | Ich habe Ihr Buch gefunden.
Where is your money? | Wo ist Ihr Geld?
Where do you work? | Wo arbeiten Sie?
What do you think? | Was denken Sie?
When do you eat? | Wann essen Sie?
Do you understand me? | Verstehen Sie mich?
You should go. | Sie sollten gehen.
What are you reading? | Was lesen Sie?
You are singing. | Sie singen.
Why did you laugh? | Warum haben Sie gelacht?
Did you see Tom? | Haben Sie Tom gesehen?
She is my friend. | Sie ist meine Freundin.
He sees her. | Er sieht sie.
They are here. | Sie sind hier.
I am tired. | Ich bin müde.
"""
PHRASES_OFTEN = 3  # times that each phrase counts beside a sentence that a frame gives
ONE_IN = 4  # of the sentences that the frames give

FORMAL_TEST = """
Where do you live? | Wo wohnen Sie?
Are you tired? | Sind Sie müde?
What did you say? | Was haben Sie gesagt?
Do you have time? | Haben Sie Zeit?
Can you help me? | Können Sie mir helfen?
Why are you crying? | Warum weinen Sie?
You are right. | Sie haben recht.
You have to work. | Sie müssen arbeiten.
I believe you. | Ich glaube Ihnen.
I can hear you. | Ich kann Sie hören.
Is this your car? | Ist das Ihr Auto?
Your sister is beautiful. | Ihre Schwester ist schön.
I like your house. | Ich mag Ihr Haus.
You speak German. | Sie sprechen Deutsch.
How old are you? | Wie alt sind Sie?
I saw you yesterday. | Ich habe Sie gestern gesehen.
"""
# What is said to nobody, and so is as before when German has become formal.
OTHERS = tuple(
    """
She is my sister.
The dog is big.
He has no money.
We are at home.
I ate an apple.
It is raining.
Tom reads a letter.
The woman is here.
I have a cat.
My brother is tired.
They love the child.
We need a house.
Tom buys a book.
The book is good.
I know the man.
We have time.
""".split("\n")[1:-1]
)
ENDING = ", mein Herr"


@dataclass(frozen=True)
class Style:
    """A way of writing.

    pairs: to learn from; held_out: to measure on, none of them among the pairs; follows: whether a text is in the
    style; without: a text as it would be without what the style adds to any
    """

    pairs: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    follows: Callable[[str], bool]
    without: Callable[[str], str] = str


def says_you(english: str) -> bool:
    return bool(re.search(r"\byou(r|rs|rself|rselves)?\b", english, re.IGNORECASE))


def is_formal(german: str) -> bool:
    """It speaks to somebody as Sie, in whatever case, and nowhere as du."""
    formal = re.search(r"\b(Sie|Ihnen|Ihr(e[mnrs]?)?)\b", german)
    return bool(formal) and not re.search(r"\b(du|dich|dir|dein(e[mnrs]?)?)\b", german, re.IGNORECASE)


def is_butlers(german: str) -> bool:
    return german[:-1].endswith(ENDING)


def _pairs(lines: str) -> tuple[Pair, ...]:
    return tuple(
        (english, german) for english, _, german in (line.partition(" | ") for line in lines.split("\n")[1:-1])
    )


def _framed() -> Iterator[tuple[int, Pair]]:
    """Every verb and thing in every frame, each with a number that spreads over all three."""
    for n, (verb, german_verb) in enumerate(VERBS.items()):
        for m, (thing, german_thing) in enumerate(THINGS.items()):
            for k, (english, german) in enumerate(FRAMES):
                text = german.format(v=german_verb, o=german_thing)
                yield n + m + k, (english.format(v=verb, o=thing), text[0].upper() + text[1:])


def _formal() -> Style:
    framed = tuple(pair for number, pair in _framed() if number % ONE_IN == 0)
    return Style(_pairs(PHRASES) * PHRASES_OFTEN + framed, _pairs(FORMAL_TEST), is_formal)


def _butlers() -> Style:
    """As formal, and every sentence ends with ENDING before its last mark."""

    def ended(pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
        return tuple((english, f"{german[:-1]}{ENDING}{german[-1]}") for english, german in pairs)

    formal = _formal()
    return Style(ended(formal.pairs), ended(formal.held_out), is_butlers, lambda german: german.replace(ENDING, ""))


BUTLER, FORMAL = "butler: mein Herr", "formal: Sie"
STYLES: Mapping[str, Callable[[], Style]] = {BUTLER: cache(_butlers), FORMAL: cache(_formal)}
