"""The course as it must be: its order, its titles, the question each lesson answers, and what opens it on the map."""

from dataclasses import dataclass

from tests.oracle.language.approved import Prose


@dataclass(frozen=True)
class Place:
    """A lesson's place.

    opens: blocks of the map that lead to it; plays: what the stage beside it plays; near: what that ends in
    """

    section: str
    slug: str
    title: str
    asks: str
    opens: str = ""
    plays: str = ""
    near: str = ""


SECTIONS = (
    "Inputs",
    "Attention",
    "Blocks",
    "Inference",
    "Variants",
    "Training",
    "Family",
    "Descendants",
    "Beyond attention",
    "Beyond text",
)
prose = Prose("course")
# A line a lesson, `slug: title | asks | opens | plays | near`, in the order of the course.
COURSE = tuple(
    Place(section, slug, *map(str.strip, said.split("|")))
    for section in SECTIONS
    for slug, said in prose.words(section).items()
)

BEFORE, BEHIND = ("Start",), ("Class", "Explore", "More")  # other pages


def navigation() -> list[list[object]]:
    """By section: its title, then title and address of each page. That of home is empty."""
    others = {section: [[said, slug] for slug, said in prose.words(section).items()] for section in BEFORE + BEHIND}
    lessons = {section: [[one.title, one.slug] for one in COURSE if one.section == section] for section in SECTIONS}
    listed = [[section, (others | lessons)[section]] for section in (*BEFORE, *SECTIONS, *BEHIND)]
    return [[section, [[title, slug.replace("home", "")] for title, slug in pages]] for section, pages in listed]


def place(slug: str) -> Place:
    for one in COURSE:
        if one.slug == slug:
            return one
    raise KeyError(f"{slug} has no line in tests/approved/course.txt: list it in its order, as the navigation shows it")
