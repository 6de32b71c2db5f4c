"""A process of its own that answers a question until it has done so for all its learners, or is killed.

    python -m tests.classroom.worker URL CODE POLL FIRST LAST

joins as the learners FIRST to LAST - 1, answers for each, and prints a line once an answer is confirmed.
"""

import contextlib
import sys

from classroom.database import Database
from classroom.errors import StoreError
from classroom.members import join
from classroom.polls import answer


def main(url: str, code: str, poll: str, first: str, last: str) -> None:
    db = Database(url)
    print("ready", flush=True)
    for n in range(int(first), int(last)):
        with contextlib.suppress(StoreError):  # a server that is being killed confirms nothing
            member = join(db, code, f"token {n}", str(n), "school")
            answer(db, member, int(poll), frozenset({n % 3}))
            print(n, flush=True)
    db.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
