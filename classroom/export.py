"""The results of a class as a file for a spreadsheet: a line for each answer."""

from datetime import UTC, datetime

from sqlalchemy import select

from classroom.classes import Teacher, own
from classroom.codes import as_csv
from classroom.database import Database
from classroom.polls import read_chosen
from classroom.tables import Answer, Learner, Poll

HEAD = ("question", "text", "learner", "nickname", "answer", "right", "time (UTC)")


def results(db: Database, teacher: Teacher) -> bytes:
    """Every answer of a class as CSV: the number of the question and its text, the learner, what was answered.

    Learners are counted from 1 in the order in which they joined, with those who have left; "right" is yes or no, or
    empty where nobody said which answer is.

    Raises: NoSuchClassError; StoreError
    """
    with db.reading() as session:
        own(session, teacher)
        rows = session.execute(
            select(Poll, Answer, Learner)
            .join(Answer, Answer.poll_id == Poll.id)
            .join(Learner, Learner.id == Answer.learner_id)
            .where(Poll.class_id == teacher.class_id)
            .order_by(Poll.number, Learner.id)
        )
        lines = [
            (
                str(poll.number),
                poll.text,
                str(learner.number),
                learner.nickname,
                "; ".join(poll.options[n] for n in sorted(read_chosen(given.chosen))),
                ("yes" if read_chosen(given.chosen) == frozenset(poll.right) else "no") if poll.right else "",
                datetime.fromtimestamp(given.given, UTC).strftime("%Y-%m-%d %H:%M:%S"),
            )
            for poll, given, learner in rows
        ]
    return as_csv([HEAD, *lines])
