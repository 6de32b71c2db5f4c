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


def place(slug: str) -> Place:
    for one in COURSE:
        if one.slug == slug:
            return one
    raise KeyError(f"{slug} has no line in tests/approved/course.txt: list it in its order, as the navigation shows it")
