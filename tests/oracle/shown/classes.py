"""A class as its store holds it, read by SQL alone, and what its pages must show of it."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import (
    Question,
    button,
    control,
    download,
    link,
    markdown,
    segmented,
    select,
    table,
    text_box,
    toggle,
)  # fmt: skip
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.shown.course import COURSE

prose = Prose("classes")

Statements = Iterator[Statement]

HERE_SECONDS = 90
TITLES = {place.slug: place.title for place in COURSE}
PARTS = ("Invitation", "Questions", "Who is where", "Progress", "Sentences", "End")


@dataclass(frozen=True)
class Learner:
    """A row of the store."""

    id: int
    number: int
    nickname: str
    page: str
    seen: int
    sentence: str
    progress: Mapping[str, Sequence[int]]

    @property
    def here(self) -> bool:
        return abs(time.time() - self.seen) <= HERE_SECONDS + 1


@dataclass(frozen=True)
class Poll:
    """A row of the store. given: the options that each learner chose who answered, by their ids"""

    number: int
    text: str
    options: Sequence[str]
    right: Sequence[int]
    why: str
    several: bool
    closed: bool
    revealed: bool
    lesson: str
    given: Mapping[int, frozenset[int]]


class Book:
    """What the store holds of a class: its learners as they joined, its questions as they were asked."""

    def __init__(self, file: Path, code: str) -> None:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as store:
            self.code = code
            ((number, self.title, self.locked, place, moves),) = store.execute(
                "SELECT id, title, locked, place, moves FROM classes WHERE code = ?", (code,)
            )
            self.place = json.loads(place)["page"] if moves else None
            rows = store.execute(
                "SELECT id, number, nickname, page, seen, sentence, progress FROM learners WHERE class_id = ? "
                "ORDER BY id",
                (number,),
            )
            self.learners = [Learner(*row[:6], json.loads(row[6])) for row in rows]
            self.polls = []
            for row in store.execute(
                prose.line("select id number text"),
                (number,),
            ).fetchall():
                id, nth, text, options, right, why, *flags, lesson = row
                given = store.execute("SELECT learner_id, chosen FROM answers WHERE poll_id = ?", (id,)).fetchall()
                chosen = {who: frozenset(map(int, what.split())) for who, what in given}
                lists = json.loads(options), json.loads(right)
                self.polls.append(Poll(nth, text, *lists, why, *map(bool, flags), lesson, chosen))

    @property
    def here(self) -> list[Learner]:
        return [one for one in self.learners if one.here]


class ClassPage(Page):
    """A page of somebody in a class.

    me: the id of the learner who looks; None for the teacher, whose secret is `secret`
    """

    def __init__(
        self, slug: str, state: Mapping[str, str], book: Book, me: int | None = None, secret: str = ""
    ) -> None:
        super().__init__(slug, state)
        self.book, self.me, self.secret = book, me, secret


def bar(share: float, words: str) -> Statements:
    """Whole percents, what is over is cut."""
    yield markdown(words)
    yield Statement("progress", int(100 * share))


def results(poll: Poll, closed: bool, mine: frozenset[int] = frozenset()) -> Statements:
    for n, option in enumerate(poll.options):
        count = sum(n in chosen for chosen in poll.given.values())
        share = count / max(1, len(poll.given))
        words = f"{option}: **{count}** ({100 * share:.0f}%)"
        words += " · your answer" if n in mine else ""
        words += " · **right** ✓" if closed and n in poll.right else ""
        yield from bar(share, words)
    yield from prose("answered", len(poll.given), " More than one could be chosen." if poll.several else "")
    if closed and poll.why:
        yield markdown(poll.why)


# --- the teacher -----------------------------------------------------------------------------------------------------


def desk(page: ClassPage, asks: Sequence[Question]) -> Statements:
    """Args: asks: the questions of the first lesson"""
    book = page.book
    if book.title:
        yield markdown(f"**{book.title}**")
    part = page.choice("desk", PARTS, PARTS[0])
    yield segmented("What you see", PARTS, part)
    if part == "Invitation":
        yield from invitation(page)
    elif part == "Questions":
        yield from preparing(page, asks)
        yield from asked(book)
    elif part == "Who is where":
        yield from where(book)
        yield from one_learner(book)
    elif part == "Progress":
        yield from progress(book)
    elif part == "Sentences":
        offered = [one for one in book.learners if one.sentence]
        if not offered:
            yield from prose("nobody has offered a")
        for one in offered:
            yield markdown(one.sentence + (f" · {one.nickname}" if one.nickname else ""))
            yield button("Show it")
    else:
        yield from end(book)


def invitation(page: ClassPage) -> Statements:
    book = page.book
    yield Statement("code", book.code)
    yield from prose("open and type the", len(book.learners), len(book.here))
    if book.locked:
        yield from prose("nobody else is let")
    yield button("Let others in again" if book.locked else "Let nobody else in")
    yield Statement("picture", "QR code of the address by which one joins")
    yield from prose("your secret link")
    yield Statement("code", f"http://localhost/teach?class={book.code}&secret={page.secret}")


def preparing(page: ClassPage, asks: Sequence[Question]) -> Statements:
    source = page.choice("source", ("A lesson", "Your own"), "A lesson")
    yield segmented("Where the question comes from", ("A lesson", "Your own"), source)
    if source == "Your own":
        yield control("text_area", "Your question", value="")
        yield control("text_area", "The options, each on a line of its own, two to 10", value="")
        yield control("selectbox", "The right one, if you want to say so", options=["none"], value=None)
        yield button("Ask the class", disabled=True)
        return
    yield select("Lesson", list(TITLES.values()), COURSE[0].title)
    yield select("Question", [str(n) for n in range(1, len(asks) + 1)], "1")
    yield button("Ask the class")
    yield from prose("the sentence", asks[0].text, page.text)
    yield markdown("\n".join(f"- {option}" for option in asks[0].options))


def asked(book: Book) -> Statements:
    """The newest question with what may be seen of its answers; those before with all."""
    if not book.polls:
        yield from prose("you have not asked")
        return
    *earlier, newest = book.polls
    yield from prose("question", newest.number)
    yield markdown(newest.text)
    if newest.revealed:
        yield from results(newest, newest.closed)
    else:
        yield markdown("\n".join(f"- {option}" for option in newest.options))
        answered, of = len(newest.given), len(book.learners)
        words = f"**{answered}** of {of} have answered. What they answered is hidden."
        yield from bar(answered / max(1, of), words)
    yield button("Open it again" if newest.closed else "Close it")
    yield button("Hide the answers" if newest.revealed else "Reveal the answers")
    if newest.closed:
        yield from prose("it is closed later")
    elif newest.revealed and newest.right:
        yield from prose("close it to show")
    if newest.lesson:
        yield link("To the lesson that it comes from →", newest.lesson)
    for poll in reversed(earlier):
        yield from prose("question answered", poll.number, len(poll.given))
        yield markdown(poll.text)
        yield from results(poll, closed=True)


def where(book: Book) -> Statements:
    yield from prose("of learners are here", len(book.here), len(book.learners))
    counts = Counter(one.page for one in book.here)
    lessons = [slug for slug in TITLES if slug in counts]
    rows = []
    for page in [*sorted(counts.keys() - set(lessons)), *lessons]:
        names = [one.nickname for one in book.here if one.page == page and one.nickname]
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        rows.append((title_of(page), str(counts[page]), ", ".join(names[:12]) + more))
    if rows:
        yield table(("Page", "Learners", "Nicknames"), *rows)
    yield from prose("to bring everyone to")


def title_of(page: str) -> str:
    return TITLES.get(page) or {"": "Translate", "join": "Join a class", "bertviz": "BertViz"}[page]


def one_learner(book: Book, number: int | None = None) -> Statements:
    """Args: number: of the learner who is chosen"""
    if not book.learners:
        return
    names = {
        one.number: f"{one.nickname} · learner {one.number}" if one.nickname else f"Learner {one.number}"
        for one in book.learners
    }
    yield from prose("rename or remove")
    chosen = next((one for one in book.learners if one.number == number), None)
    at = chosen and names[chosen.number]
    yield control("selectbox", "Learner", options=list(names.values()), value=at, placeholder="Choose one")
    if chosen is None:
        return
    yield from prose("here now", title_of(chosen.page)) if chosen.here else prose("not here now")
    yield text_box("New nickname", chosen.nickname)
    yield button("Rename")
    yield from prose("whoever is removed")
    yield control("checkbox", "Yes, remove this learner", value=False)
    yield button("Remove", disabled=True)


def progress(book: Book, each: bool = False) -> Statements:
    begun = [one for one in book.learners if one.progress]
    people = len(book.learners)
    if not begun:
        yield from prose("as soon as a")
        return
    yield from prose("learners who have answered", len(begun), people)
    for slug, title in TITLES.items():
        counts = [one.progress[slug] for one in begun if slug in one.progress]
        if counts:
            ((_, questions),) = {(0, of) for _, of in counts}  # it asks everybody as much
            right, done = sum(n for n, _ in counts), [n for n, of in counts if n == of]
            yield from bar(
                right / (questions * people),
                f"{title}: **{right}** of {questions * people} answered right. "
                f"All right: **{len(done)}** of {people} learners.",
            )
    yield from prose("a bar is full")
    yield toggle("Learner by learner", each)
    if not each:
        return
    rows = []
    for one in book.learners:
        lessons = [
            f"{title} {one.progress[slug][0]} of {one.progress[slug][1]}"
            for slug, title in TITLES.items()
            if slug in one.progress
        ]
        right, of = (sum(counts[i] for counts in one.progress.values()) for i in (0, 1))
        rows.append(
            (one.nickname or f"Learner {one.number}", f"{right} of {of}" if lessons else "0", ", ".join(lessons))
        )
    yield table(("Learner", "Answered right", "In which lessons"), *rows)


def end(book: Book, renewed: bool = False) -> Statements:
    """Args: renewed: the secret link has just been replaced"""
    answers = sum(len(poll.given) for poll in book.polls)
    yield from prose("questions answers learners", len(book.polls), answers, len(book.learners))
    yield download("Results as CSV")
    yield from prose("replace the secret link")
    yield control("checkbox", "Yes, replace it", value=False)
    yield button("New secret link", disabled=True)
    if renewed:
        yield from prose("the old link works no")
    yield from prose("delete the class")
    yield control("checkbox", "Yes, delete it", value=False)
    yield button("Delete everything", disabled=True)


# --- a learner -------------------------------------------------------------------------------------------------------


def seat(page: ClassPage) -> Statements:
    (me,) = (one for one in page.book.learners if one.id == page.me)
    name = f" as **{me.nickname}**" if me.nickname else ""
    yield from prose("you are in the", page.book.code, name)
    if page.book.place is not None:
        yield button("Go where everyone is")
    if page.book.polls:
        yield from question(page.book.polls[-1], me.id)
    else:
        yield from prose("there is no question")
    yield from prose("your sentence")
    yield button("Let my teacher show the sentence above")
    yield from prose("leave the class")
    yield button("Leave and delete my answers")


def question(poll: Poll, me: int) -> Statements:
    """The right answer and why are a learner's once it is closed and revealed, the counts once it is revealed."""
    given = poll.given.get(me, frozenset())
    yield from prose("question 2", poll.number)
    yield markdown(poll.text)
    if poll.revealed:
        yield from results(poll, poll.closed, given)
    elif given:
        chosen = " and ".join(poll.options[n] for n in sorted(given))
        yield from prose("your answer is counted", chosen)
    elif poll.closed:
        yield from prose("this question is closed")
    if given or poll.closed:
        return
    if poll.several:
        for option in poll.options:
            yield control("checkbox", option, value=False)
        yield from prose("more than one may")
    else:
        yield control("radio", "Your answer", options=list(poll.options), value=None)
    yield button("Answer", disabled=True)


# --- above every page ------------------------------------------------------------------------------------------------


def strip(page: ClassPage) -> Statements:
    book = page.book
    if page.me is None:
        yield from prose("you teach here", book.code, len(book.here))
        yield button("Everyone here now", help="Brings all learners to this page as it is.")
        yield link("To your class →", "teach")
        return
    yield from prose("class", book.code, f" · **{book.title}**" if book.title else "")
    if book.place is not None and book.place != page.slug:
        yield button("Go where everyone is")
    newest = book.polls[-1] if book.polls else None
    waits = newest is not None and not newest.closed and page.me not in newest.given
    yield link(f"Question {newest.number} is open →" if newest and waits else "To the class →", "join")
