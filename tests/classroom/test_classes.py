"""Opening, joining, teaching and deleting a class, on both databases."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from classroom import rate_limits
from classroom.classes import ENDED, HERE_SECONDS, delete_class, lock_class, open_class, people, send, sweep, teach
from classroom.database import Database
from classroom.errors import (
    LeftError,
    NoSuchClassError,
    NotPossibleError,
    NotTheTeacherError,
    TooManyTriesError,
)  # fmt: skip
from classroom.members import MAX_NICKNAME, come_back, join, leave, offer, report, stand  # fmt: skip
from classroom.polls import Boards, answer, ask, overview, set_state
from classroom.tables import Base, Class, Tries
from tests.classroom.kit import DAY, NOW, QUESTION, learners, new_class, view

PAGES = frozenset({"", "masking", "encoder"})
CSS = "<style>*{display:none}</style>"


def test_a_teacher_comes_back_with_the_secret_alone(db: Database) -> None:
    teacher, secret = open_class(db, "  Physics\n 1 ", "here", NOW)
    assert teacher.title == "Physics 1"
    assert teach(db, teacher.code.lower(), secret, "elsewhere", NOW) == teacher
    other, other_secret = open_class(db, "", "here", NOW)
    for code, wrong in (
        (teacher.code, ""), (teacher.code, other_secret), (other.code, secret), ("CCCCCC", secret), ("", ""),
        (teacher.code, "\ud800"), (teacher.code, secret + "\x00"),
    ):  # fmt: skip
        with pytest.raises(NotTheTeacherError, match=r"^This is not the teacher's link of a class"):
            teach(db, code, wrong, "there", NOW)


def test_neither_secret_nor_token_is_kept(db: Database) -> None:
    teacher, secret = open_class(db, "", "here", NOW)
    join(db, teacher.code, "a token", "", "here", NOW)
    with db.reading() as session:
        kept = str([session.execute(table.select()).all() for table in Base.metadata.sorted_tables])
    assert teacher.code in kept
    assert secret not in kept
    assert "a token" not in kept


def test_a_learner_joins_once_with_a_browser_and_keeps_the_name(db: Database) -> None:
    teacher = new_class(db)
    first = join(db, f" {teacher.code[:3]}-{teacher.code[3:].lower()} ", "browser", "Ada", "school", NOW)
    assert join(db, teacher.code, "browser", "Someone else", "school", NOW + 5) == first
    assert come_back(db, teacher.code, "browser") == first
    assert come_back(db, teacher.code, "another browser") is None
    assert come_back(db, "CCCCCC", "browser") is None
    assert [one.nickname for one in people(db, teacher, NOW)] == ["Ada"]


@pytest.mark.parametrize("nickname", ["x" * 10_000, CSS, "\x00\ud800", "", "=1+1"])
def test_any_nickname_is_taken_short_and_harmless(nickname: str, db: Database) -> None:
    member = join(db, new_class(db).code, "browser", nickname, "school", NOW)
    assert len(member.nickname) <= MAX_NICKNAME
    assert member.nickname.isprintable()


def test_a_code_that_does_not_exist_is_told_in_one_sentence(db: Database) -> None:
    new_class(db)
    for code in ("", "CCCCCC", "x" * 10_000, "' OR 1=1 --", "\x00"):
        with pytest.raises(NoSuchClassError, match=r"^There is no class with this code: "):
            join(db, code, "browser", "", "school", NOW)


def guessing(db: Database, visitor: str, tries: int, address: str = "school") -> None:
    for _ in range(tries):
        with pytest.raises(NoSuchClassError):
            join(db, "CCCCCC", "guesser", "", address, NOW, visitor)


def test_who_guesses_codes_is_shut_out_and_nobody_else_there(db: Database) -> None:
    teacher = new_class(db)
    guessing(db, "guesser", rate_limits.CODES.of_visitor)
    for code in ("CCCCCC", teacher.code):  # the right one, too: else a guesser would learn it
        with pytest.raises(TooManyTriesError, match=r"^You have tried too many codes"):
            join(db, code, "guesser", "", "school", NOW + 1, "guesser")
    assert join(db, teacher.code, "learner", "", "school", NOW, "learner")
    assert join(db, teacher.code, "guesser", "", "school", NOW + rate_limits.CODES.seconds, "guesser")


def test_codes_cannot_be_guessed_in_bulk_under_ever_new_names(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "CODES", rate_limits.Limit("code", 3, 12, 600))
    (taught, secret), other, joined = open_class(db, "", "home", NOW), new_class(db), new_class(db)
    join(db, joined.code, "learner 1", "", "school", NOW)
    for n in range(4):
        guessing(db, f"guesser {n}", 3)
    for code in ("CCCCCC", other.code, taught.code):
        with pytest.raises(TooManyTriesError, match=r"^Others in your network have tried too many codes"):
            join(db, code, "new", "", "school", NOW, "new")
    assert join(db, joined.code, "learner 2", "", "school", NOW, "learner 2")  # in use there: others know it anyway
    assert teach(db, taught.code, secret, "school", NOW) == taught
    assert join(db, taught.code, "learner 3", "", "school", NOW, "learner 3")
    assert join(db, other.code, "learner 4", "", "elsewhere", NOW, "learner 4")
    assert join(db, other.code, "learner 5", "", "school", NOW + 600, "learner 5")


def test_no_number_of_wrong_secrets_shuts_the_teacher_out(db: Database) -> None:
    teacher, secret = open_class(db, "", "school", NOW)
    for _ in range(60):
        with pytest.raises(NotTheTeacherError):
            teach(db, teacher.code, "guess", "school", NOW)
    assert teach(db, teacher.code, secret, "school", NOW) == teacher


def test_a_school_of_three_hundred_that_mistypes_is_not_shut_out(db: Database) -> None:
    """Half of them do, thrice each, as if at one moment; that is within what one address may."""
    teacher = new_class(db)
    assert rate_limits.CODES.of_address >= 3 * 300
    for n in range(15):
        guessing(db, f"learner {n}", 3)
        assert join(db, teacher.code, f"learner {n}", "", "school", NOW, f"learner {n}")


def test_right_codes_of_a_whole_class_behind_one_address_use_up_nothing(db: Database) -> None:
    teacher = new_class(db)
    count = 2 * rate_limits.CODES.of_visitor
    assert len({member.learner_id for member in learners(db, teacher, count)}) == count


@pytest.mark.parametrize("limit", [one for one in vars(rate_limits).values() if isinstance(one, rate_limits.Limit)])
def test_sweeping_forgets_no_try_that_still_counts_and_each_that_does_not(
    limit: rate_limits.Limit, db: Database
) -> None:
    with db.writing() as session:
        origin, late = rate_limits.Origin("school", "somebody"), NOW + limit.seconds - 1
        assert all(rate_limits.count(session, limit, origin, NOW).visitor for _ in range(limit.of_visitor))
        rate_limits.forget(session, late)
        assert not rate_limits.left(session, limit, origin, late).visitor
        assert not rate_limits.count(session, limit, origin, late).visitor
        assert rate_limits.left(session, limit, origin, NOW + limit.seconds).visitor
        rate_limits.forget(session, NOW + rate_limits.IN_USE_SECONDS + 7200)
        assert not session.scalars(select(Tries)).all()
        rate_limits.count(session, limit, origin, NOW + DAY)  # by a clock that is then set back
        rate_limits.forget(session, NOW)
        assert not session.scalars(select(Tries)).all()


@pytest.mark.parametrize("jump", [-10 * 365 * DAY, 10 * 365 * DAY])
def test_a_limit_survives_a_clock_that_jumps(jump: int, db: Database) -> None:
    teacher = new_class(db)
    guessing(db, "guesser", rate_limits.CODES.of_visitor)
    assert join(db, teacher.code, "guesser", "", "school", NOW + jump, "guesser")


def test_classes_cannot_be_opened_without_end(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "CLASSES", rate_limits.Limit("class", 3, 7, 3600))
    for n in range(7):
        open_class(db, "", "school", NOW, f"teacher {n // 3}")
    for visitor, says in (("teacher 0", "^You have opened many classes"), ("new", "^Many classes were opened")):
        with pytest.raises(TooManyTriesError, match=says):
            open_class(db, "", "school", NOW, visitor)
    assert open_class(db, "", "elsewhere", NOW, "teacher 3")
    with db.reading() as session:
        assert len(session.scalars(select(Class.id)).all()) == 8


def test_a_locked_class_lets_only_its_learners_in(db: Database) -> None:
    teacher = new_class(db)
    (inside,) = learners(db, teacher, 1)
    lock_class(db, teacher, True)
    assert overview(db, teacher, NOW).locked
    with pytest.raises(NotPossibleError, match=r"^This class lets nobody else in"):
        join(db, teacher.code, "late", "", "school", NOW)
    assert join(db, teacher.code, "token 0", "", "school", NOW) == inside
    lock_class(db, teacher, False)
    assert join(db, teacher.code, "late", "", "school", NOW)


def test_a_class_holds_so_many_and_no_more(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classroom.members.MAX_LEARNERS", 3)
    teacher = new_class(db)
    one, two, three = learners(db, teacher, 3)
    with pytest.raises(NotPossibleError, match=r"^This class is full"):
        join(db, teacher.code, "one more", "", "school", NOW)
    # Whoever is gone and never answered makes room, and nobody else.
    later = NOW + HERE_SECONDS + 1
    stand(db, two, "masking", later)
    answer(db, one, ask(db, teacher, QUESTION, NOW), frozenset({0}), NOW)
    joined = join(db, teacher.code, "one more", "", "school", later)
    assert {who.learner_id for who in people(db, teacher, later)} == {who.learner_id for who in (one, two, joined)}
    with pytest.raises(LeftError):
        stand(db, three, "masking", later)
    with pytest.raises(NotPossibleError, match=r"^This class is full"):
        join(db, teacher.code, "and another", "", "school", later)


def test_one_browser_takes_so_many_seats_and_comes_back_to_its_own(db: Database) -> None:
    teacher = new_class(db)
    for n in range(rate_limits.SEATS.of_visitor):
        join(db, teacher.code, f"token {n}", "", "school", NOW, "greedy")
    with pytest.raises(TooManyTriesError, match=r"^Many have joined classes from this browser"):
        join(db, teacher.code, "one more", "", "school", NOW, "greedy")
    assert join(db, teacher.code, "token 0", "", "school", NOW, "greedy")
    assert join(db, teacher.code, "another", "", "school", NOW, "somebody")
    assert join(db, teacher.code, "one more", "", "school", NOW + rate_limits.SEATS.seconds, "greedy")


def test_where_learners_stand_and_who_is_here(db: Database) -> None:
    teacher = new_class(db)
    one, two, _ = learners(db, teacher, 3)
    stand(db, one, "masking", NOW + 100)
    stand(db, two, "encoder" * 100, NOW + 100 + HERE_SECONDS)
    seen = people(db, teacher, NOW + 100 + HERE_SECONDS)
    assert [(somebody.page[:7], somebody.here) for somebody in seen] == [
        ("masking", True), ("encoder", True), ("", False),
    ]  # fmt: skip
    assert overview(db, teacher, NOW + 100 + HERE_SECONDS).here == 2
    assert overview(db, teacher, NOW + 99 + HERE_SECONDS).here == 2  # another machine's clock may be ahead of this one
    # A clock that was set back: nobody counts as here who was last heard of in a far future.
    assert overview(db, teacher, NOW - DAY).here == 0


def test_what_learners_have_answered_right_is_kept_by_lesson(db: Database) -> None:
    teacher, other = new_class(db), new_class(db)
    one, two = learners(db, teacher, 2)
    learners(db, other, 1)
    assert [somebody.progress for somebody in people(db, teacher, NOW)] == [{}, {}]
    report(db, one, {"masking": (1, 3), "encoder": (5, 5)})
    report(db, two, {"masking": (0, 3)})
    report(db, one, {"masking": (2, 3)})  # as from another tab, which knows nothing of the encoder
    report(db, one, {})
    assert [somebody.progress for somebody in people(db, teacher, NOW)] == [
        {"masking": (2, 3), "encoder": (5, 5)}, {"masking": (0, 3)},
    ]  # fmt: skip
    assert [somebody.progress for somebody in people(db, other, NOW)] == [{}]
    leave(db, one)
    assert [somebody.progress for somebody in people(db, teacher, NOW)] == [{"masking": (0, 3)}]
    with pytest.raises(NoSuchClassError):
        report(db, one, {"masking": (1, 3)})


def test_two_tabs_that_report_at_once_lose_nothing(db: Database) -> None:
    teacher = new_class(db)
    (one,) = learners(db, teacher, 1)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: report(db, one, {f"lesson-{n}": (n, 20)}), range(20)))
    assert people(db, teacher, NOW)[0].progress == {f"lesson-{n}": (n, 20) for n in range(20)}


def test_a_sentence_is_shown_by_agreement_and_forgotten_when_it_is_taken_back(db: Database) -> None:
    teacher = new_class(db)
    (one,) = learners(db, teacher, 1)
    offer(db, one, "I  ate\x00 an apple\n" + "x" * 10_000)
    (seen,) = people(db, teacher, NOW)
    assert seen.sentence.startswith("I ate an apple xxx")
    assert len(seen.sentence) == 300
    offer(db, one, "")
    assert people(db, teacher, NOW)[0].sentence == ""


def test_everyone_is_sent_to_a_page_that_there_is(db: Database) -> None:
    teacher = new_class(db)
    (one,) = learners(db, teacher, 1)
    assert view(db, one).place is None
    send(db, teacher, "masking", {"sentence": "A  dog\x00.", "head": "2"}, PAGES)
    place = view(db, one).place
    assert place
    assert (place.page, place.state, place.move) == ("masking", {"sentence": "A dog.", "head": "2"}, 1)
    send(db, teacher, "masking", {"head": "2"}, PAGES)
    assert overview(db, teacher, NOW).place == view(db, one).place
    assert view(db, one).place.move == 2  # type: ignore[union-attr]
    for page, state in (
        ("nowhere", {}), ("//evil.example", {}), ("masking", {"a b": "c"}), ("masking", {"x": "y" * 3000}),
        ("masking", {"<b>": "x"}), ("masking", {f"x{n}": "y" for n in range(40)}),
    ):  # fmt: skip
        with pytest.raises(NotPossibleError):
            send(db, teacher, page, state, PAGES)
    assert view(db, one).place.move == 2  # type: ignore[union-attr]


def test_deleting_a_class_deletes_everything_and_everybody_is_told(db: Database) -> None:
    teacher, other = new_class(db), new_class(db, "Music")
    (one,) = learners(db, teacher, 1)
    (two,) = learners(db, other, 1)
    answer(db, one, ask(db, teacher, QUESTION, NOW), frozenset({1}), NOW)
    delete_class(db, teacher)
    delete_class(db, teacher)
    for do in (
        lambda: overview(db, teacher, NOW), lambda: people(db, teacher), lambda: ask(db, teacher, QUESTION),
        lambda: view(db, one), lambda: stand(db, one, "masking"), lambda: offer(db, one, "x"),
        lambda: report(db, one, {"masking": (1, 3)}),
        lambda: send(db, teacher, "masking", {}, PAGES), lambda: lock_class(db, teacher, True),
        lambda: answer(db, one, 1, frozenset({1})),
    ):  # fmt: skip
        with pytest.raises(NoSuchClassError, match=f"^{ENDED}$"):
            do()
    assert come_back(db, teacher.code, "token 0") is None
    assert view(db, two).poll is None
    with db.reading() as session:
        left = {table.name: len(session.execute(table.select()).all()) for table in Base.metadata.sorted_tables}
    del left["tries"]
    assert left == {"classes": 1, "learners": 1, "polls": 0, "answers": 0}


def test_the_next_class_is_none_of_a_deleted_ones_business(db: Database) -> None:
    teacher = new_class(db)
    (one,) = learners(db, teacher, 1)
    poll = ask(db, teacher, QUESTION)
    delete_class(db, teacher)
    following = new_class(db, "Secret society")
    learners(db, following, 1)
    ask(db, following, QUESTION)
    with pytest.raises(NoSuchClassError):
        overview(db, teacher)
    with pytest.raises(NoSuchClassError):
        view(db, one)
    with pytest.raises(NotPossibleError):
        set_state(db, following, poll, closed=True)


def test_nobody_reaches_into_another_class(db: Database) -> None:
    mine, other = new_class(db), new_class(db)
    (one,) = learners(db, mine, 1)
    poll = ask(db, other, QUESTION)
    with pytest.raises(NotPossibleError, match=r"^There is no such question in this class"):
        answer(db, one, poll, frozenset({0}))
    with pytest.raises(NotPossibleError, match=r"^There is no such question in this class"):
        set_state(db, mine, poll, revealed=True)
    assert not overview(db, other).polls[0].answered
    assert not overview(db, mine).polls
    assert view(db, one).poll is None


def test_who_leaves_takes_their_answers_along(db: Database) -> None:
    teacher = new_class(db)
    one, two = learners(db, teacher, 2)
    poll = ask(db, teacher, QUESTION)
    for member in (one, two):
        answer(db, member, poll, frozenset({1}))
    leave(db, one)
    leave(db, one)
    assert overview(db, teacher).polls[0].answered == 1
    assert [somebody.nickname for somebody in people(db, teacher)] == ["Learner 1"]
    boards = Boards(db)
    assert boards.of(two).poll
    (late,) = learners(db, teacher, 3)[2:]  # the board was read before they joined
    assert boards.of(late).poll
    for do in (
        lambda: boards.of(one),
        lambda: stand(db, one, "masking"),
        lambda: answer(db, one, poll, frozenset({1})),
    ):
        with pytest.raises(LeftError, match=r"^You are in this class no more"):
            do()


# --- age -------------------------------------------------------------------------------------------------------------


def exists(db: Database, code: str) -> bool:
    with db.reading() as session:
        return session.scalar(select(Class.id).where(Class.code == code)) is not None


@pytest.mark.parametrize(
    ("before", "deleted"),
    [
        ([NOW + 3600 * hours for hours in range(0, 30 * 24, 8)], NOW + 30 * DAY),
        # A server that was off deletes a day after it was switched on.
        ([NOW + 100 * DAY, NOW + 101 * DAY - 1], NOW + 101 * DAY),
        # A clock that jumps forward and is set right deletes nothing.
        (
            [NOW + 9999 * DAY + 3600 * hour for hour in range(23)] + [NOW + n * DAY for n in range(1, 30)],
            NOW + 30 * DAY,
        ),
        # A last day seen in a future that never came does not keep a class.
        ([NOW + 9999 * DAY, NOW + 30 * DAY], NOW + 31 * DAY),
    ],
)
def test_a_class_goes_after_thirty_days_by_itself(before: list[int], deleted: int, db: Database) -> None:
    code = new_class(db).code
    assert [sweep(db, moment) for moment in before] == [0] * len(before)
    assert exists(db, code)
    assert sweep(db, deleted) == 1
    assert not exists(db, code)


def test_a_clock_that_jumps_back_deletes_nothing_and_is_waited_for(db: Database) -> None:
    teacher = new_class(db)
    for moment in (0, NOW - 9999 * DAY, NOW - 1):
        assert sweep(db, moment) == 0
        (one,) = learners(db, teacher, 1, moment)
        stand(db, one, "masking", moment)
        overview(db, teacher, moment)
    sweep(db, NOW + 29 * DAY)
    sweep(db, NOW - 9999 * DAY)  # what was seen before does not count any more
    assert sweep(db, NOW + 30 * DAY) == 0
    assert sweep(db, NOW + 31 * DAY) == 1
