"""The page's text as BERT reads it, and which of its words are hidden: the address tells, or what a model finds."""

import re
from collections.abc import Iterator

from tests.oracle.language import claims
from tests.oracle.language.approved import Prose
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import Piece
from tests.oracle.passes.family import bert
from tests.oracle.passes.family.bert import Ids
from tests.oracle.passes.forward import Array

SCENE = 10  # words that a first screen shows
ADDED = " A full stop was added: BERT and GPT learned from texts that end with a mark."


class Blanks:
    """The page's text, its words, and which of them the address hides."""

    def __init__(self, page: Page, opened: bool = False) -> None:
        whole = bert.tokenizer().encode(bert.ended(page.text), add_special_tokens=False).ids
        self.ids: Ids = tuple(whole[: bert.MOST])
        self.is_cut = len(whole) > bert.MOST
        self.ended = bert.ended(page.text) != page.text and not self.is_cut
        self.pieces: tuple[Piece, ...] = bert.pieces(self.ids)
        self.words = bert.words(self.pieces)
        first = (self.default(),)
        asked = page.state.get("blanks", "")
        self.hidden: tuple[int, ...] = first
        if asked == "0":
            self.hidden = ()
        elif re.fullmatch(r"\d+(\.\d+)*", asked):
            named = tuple(sorted({int(n) - 1 for n in asked.split(".")}))
            self.hidden = named if named[0] >= 0 and named[-1] < len(self.words) else first
        if opened:
            self.hidden = first
        self.places = tuple(place for n in self.hidden for place in self.words[n])

    def word(self, n: int) -> str:
        return bert.together([self.ids[place] for place in self.words[n]]).strip(" ") or " "

    def default(self) -> int:
        """The longest word within that BERT names first and GPT does not; else that which BERT gives most more."""
        drawn = range(min(SCENE, len(self.words)))
        spelled = [n for n in drawn if self.word(n).isalpha()]
        inner = spelled[1:-1] or spelled or list(drawn)
        gained, known = {}, {}
        for n in inner:
            at = self.words[n][0]
            both, left, right = bert.both_sides(self.ids, self.words[n], at), self.left(at), self.ids[at]
            gained[n] = both[right] - left[right]
            known[n] = len(self.word(n)) if both.argmax() == right and left.argmax() != right else 0
        return max(inner, key=lambda n: (known[n], gained[n]))

    def word_of(self, place: int) -> int:
        return next(n for n, word in enumerate(self.words) if place in word)

    def both(self, place: int) -> Array:
        return bert.both_sides(self.ids, self.places, place)

    def left(self, place: int) -> Array:
        return bert.left_alone(self.ids[:place])


class Hidden(Blanks):
    """One of the first words is hidden: the one that the address names, or the lesson's own."""

    def __init__(self, page: Page, opened: bool = False) -> None:
        super().__init__(page, opened=True)
        if not opened:
            self.hidden = (page.count("hide", len(self.shown), self.hidden[0] + 1) - 1,)
            self.places = self.words[self.hidden[0]]

    @property
    def shown(self) -> list[str]:
        """The words that can be hidden."""
        return [self.word(n) for n in range(min(SCENE, len(self.words)))]

    def control(self, prose: Prose, ended: str, cut: str) -> Iterator[Statement]:
        """Its control; ended, cut: the runs that say what was done to the text."""
        yield claims.numbered("Word to hide", self.shown, self.hidden[0])
        if self.ended:
            yield claims.caption(prose.line(ended))
        if self.is_cut:
            yield from prose(cut, len(self.ids))


class Clearest(Hidden):
    """The word that models find clearest."""

    def __init__(self, page: Page, names: tuple[str, ...], opened: bool = False) -> None:
        self.names = names
        super().__init__(page, opened)

    def default(self) -> int:
        """The longest word that all name first; else what the least sure finds likeliest; letters before marks."""

        def clear(n: int) -> tuple[bool, int, float]:
            place, word = self.words[n][0], self.word(n)
            right = self.ids[place]
            said = [bert.read(self.ids, self.words[n], name).said_after(4, place + 1) for name in self.names]
            is_named = all(one.argmax() == right for one in said)
            return word.isalpha(), len(word) * is_named, min(one[right] for one in said)

        return max(range(len(self.shown)), key=clear)

    def read(self, name: str) -> bert.Bert:
        return bert.read(self.ids, self.places, name)
