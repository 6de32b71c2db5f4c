"""A class in the middle of its lesson, for the pictures of the teacher's pages."""

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from classroom.classes import open_class
from classroom.database import Database
from classroom.members import join, report, stand
from classroom.polls import Asked, answer, ask, set_state
from classroom.setting import SETTING

LEARNERS = 24
QUESTION = Asked(
    "The decoder writes the third word. Which words of the German sentence may it look at?",
    ("the first two", "all of them", "the one before", "those that follow"),
    frozenset({0}),
    "The mask hides what is not written yet.",
)
LIKELY = (14, 5, 3, 2)  # how often each option is chosen
LESSONS = {"tokenization": 4, "embeddings": 3, "self-attention": 3, "masking": 2}


@contextmanager
def a_class() -> Iterator[dict[str, str]]:
    """What leads its teacher to it, as parameters of the address. The store is there until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[SETTING] = f"sqlite:///{Path(folder)}/classes.db"
        with closing(Database()) as db:
            teacher, secret = open_class(db, "Machine translation", "here")
            draw = random.Random(3)
            poll = ask(db, teacher, QUESTION)
            for n in range(LEARNERS):
                member = join(db, teacher.code, f"token {n}", "", "school")
                stand(db, member, "masking")
                reached = draw.randint(1, len(LESSONS))
                report(
                    db, member, {name: (draw.randint(1, asks), asks) for name, asks in list(LESSONS.items())[:reached]}
                )
                (option,) = draw.choices(range(len(LIKELY)), LIKELY)
                answer(db, member, poll, frozenset({option}))
            set_state(db, teacher, poll, closed=True, revealed=True)
        yield {"class": teacher.code, "secret": secret}
    del os.environ[SETTING]
