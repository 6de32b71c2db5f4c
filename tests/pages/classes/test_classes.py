"""A class as its teacher and its learners see it, without a browser; every number is counted here once more."""

import itertools
import json
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st
from sqlalchemy import text
from streamlit.testing.v1 import AppTest

from classroom import members as members_module
from classroom.classes import (
    ENDED,
    HERE_SECONDS,
    MAX_TITLE,
    NO_CLASS,
    NOT_YOURS,
    REPLACED,
    delete_class,
    lock_class,
    open_class,
    people,
    seconds,
    send,
)  # fmt: skip
from classroom.classes import teach as teach_class
from classroom.database import BUSY, FULL, GONE, NEWER, Database
from classroom.errors import BusyError, FullError, NotTheTeacherError
from classroom.export import results
from classroom.members import (
    LEFT,
    LOCKED,
    MAX_NICKNAME,
    NO_LEARNER,
    NOT_LEFT,
    TAKEN_OUT,
    join,
    leave,
    offer,
    report,
    stand,
)
from classroom.polls import LATE, TWICE, Asked, answer, ask, chosen_in, overview, set_state
from classroom.setting import SETTING
from pages.classes import questions as questions_module
from pages.classes import room as room_module
from pages.classes import strip as strip_module
from pages.classes import where
from pages.classes.browser import DESK, MEMBER
from pages.classes.room import NO_DESK, Desk, Seat
from pages.classes.strip import AGAIN_SECONDS, GIVEN_UP_SECONDS, LOOK_SECONDS, STAND_SECONDS
from tests.oracle.language.reader import read, read_block
from tests.oracle.language.statement import Statement, compare
from tests.oracle.language.walk import unclaimed
from tests.oracle.pages.classes import join as join_claims
from tests.oracle.pages.classes import teach
from tests.oracle.shown.classes import Book, ClassPage, end, one_learner, strip
from tests.oracle.shown.classes import progress as progress_claims
from tests.pages.kit import ROOT, ROUTER, assert_sound, component, elements, give_answer, go_to, markdown, opened
from tests.postgresql import new_url, server
from ui.course.quiz import Question

__all__ = ["server"]  # a fixture

JOIN, TEACH = (ROOT / "pages" / "classes" / name for name in ("join.py", "teach.py"))
PRIMES = Asked("Which is prime? <b>*x*</b>", ("4", "<i>5</i>", "6"), frozenset({1}), "5 has no divisors.")
HOSTILE = "<img src=x onerror=pwned=1>"


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Database]:
    """A store of its own, which the pages open, too."""
    monkeypatch.setenv(SETTING, new_url(getattr(request, "param", "sqlite"), tmp_path, request))
    room_module.room.clear()
    yield room_module.room().db
    room_module.room().db.close()
    room_module.room.clear()


ON_BOTH = pytest.mark.parametrize("db", ["sqlite", "postgresql"], indirect=True)


def a_class(db: Database, title: str = "") -> Desk:
    return Desk(*open_class(db, title, "here"))


def a_learner(db: Database, at: Desk, name: str = "Ada") -> Seat:
    token = f"token of {name}"
    return Seat(join(db, at.teacher.code, token, name, "school"), at.teacher.code, token)


def sitting(seat: Seat, page: str = "join", **parameters: str) -> AppTest:
    """A page of a learner who is in a class."""
    app = AppTest.from_file(ROUTER, default_timeout=60)
    app.session_state[MEMBER] = seat
    app.query_params.update(parameters)
    return sound(go_to(app, page).run())


def standing(at: Desk, desk: str = "Questions", page: str = "teach", **state: str) -> AppTest:
    """A page of a teacher."""
    app = AppTest.from_file(ROUTER, default_timeout=60)
    app.session_state[DESK] = at
    app.query_params.update({"desk": desk, **state})
    return sound(go_to(app, page).run())


def sound(app: AppTest) -> AppTest:
    assert_sound(app)
    return app


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click().run()
    return sound(app)


def fresh() -> None:
    """As after half a second."""
    room_module.room().boards._known.clear()


def plain(text: str) -> str:
    """Markdown without its escapes."""
    return text.replace("\\", "").replace("\u2060", "")


def captions(app: AppTest) -> list[str]:
    return [plain(one.value) for one in app.caption]


def warnings(app: AppTest) -> list[str]:
    return [plain(one.value) for one in app.warning]


def progress(app: AppTest) -> list[tuple[int, str]]:
    """The bars: percent, and the words above each."""
    shown = [one for one in elements(app.main) if one.type in ("markdown", "progress")]
    return [
        (bar.proto.value, plain(words.value))
        for words, bar in itertools.pairwise(shown)
        if (words.type, bar.type) == ("markdown", "progress")
    ]


# --- a learner -------------------------------------------------------------------------------------------------------


@ON_BOTH
def test_one_joins_by_the_code_and_answers(db: Database) -> None:
    at = a_class(db, "Physics & <b>more</b>")
    app = opened(JOIN, code=at.teacher.code.lower())
    app.text_input(key="class/nickname").input(f" {HOSTILE[:23]}")
    press(app, "Join")
    assert people(db, at.teacher)[0].nickname == HOSTILE[:23]
    assert "\\<img" in markdown(app)
    assert "<img" not in markdown(app).replace("\\<", "")
    assert any(one.value.startswith("There is no question yet.") for one in app.info)
    poll = ask(db, at.teacher, PRIMES)
    fresh()
    sound(app.run())
    assert list(app.radio[0].options) == ["4", "\\<i\\>5\\<\\/i\\>", "6"]
    app.radio[0].set_value(1).run()
    press(app, "Answer")
    assert [one.value.replace("\\", "") for one in app.success] == ["Your answer is counted: <i>5</i>"]
    assert not app.radio
    assert overview(db, at.teacher).polls[0].counts == (0, 1, 0)
    assert poll == overview(db, at.teacher).polls[0].poll_id


@pytest.mark.parametrize("code", ["CCCCCC", "", HOSTILE, "x" * 10_000])
def test_a_code_that_does_not_exist_is_one_sentence(code: str, db: Database) -> None:
    app = opened(JOIN)
    app.text_input(key="class/code").input(code)
    press(app, "Join")
    (said,) = warnings(app)
    assert said.startswith("There is no class with this code")
    assert not db.engine.url.database or MEMBER not in app.session_state or app.session_state[MEMBER] is None


@ON_BOTH
def test_an_answer_given_in_another_tab_is_known_and_another_one_refused(db: Database) -> None:
    at = a_class(db)
    ada = a_learner(db, at)
    poll = ask(db, at.teacher, PRIMES)
    one, two = sitting(ada), sitting(ada)
    two.radio[0].set_value(2).run()
    answer(db, ada.member, poll, frozenset({0}))
    press(two, "Answer")
    assert TWICE in warnings(two)
    assert [one.value for one in sound(one.run()).success] == ["Your answer is counted: 4"]
    assert overview(db, at.teacher).polls[0].counts == (1, 0, 0)


@ON_BOTH
def test_a_late_answer_is_refused_in_one_sentence(db: Database) -> None:
    at = a_class(db)
    app = sitting(a_learner(db, at))
    poll = ask(db, at.teacher, PRIMES)
    fresh()
    sound(app.run())
    app.radio[0].set_value(1).run()
    set_state(db, at.teacher, poll, closed=True)
    press(app, "Answer")
    assert LATE in warnings(app)
    fresh()
    assert "This question is closed." in [one.value for one in sound(app.run()).info]


def test_a_sentence_is_offered_shown_and_taken_back(db: Database) -> None:
    at = a_class(db)
    app = sitting(a_learner(db, at))
    long = "The dog <b>sleeps</b>. " * 14  # of which the first 300 signs are kept
    app.text_input(key="sentence").input(long).run()
    press(app, "Let my teacher show the sentence above")
    assert people(db, at.teacher)[0].sentence == long[:300]
    seen = standing(at, "Sentences")
    assert f"{long[:300]} · Ada".replace(".", "") in markdown(seen).replace("\\", "").replace(".", "")
    press(app, "Take it back")
    assert people(db, at.teacher)[0].sentence == ""
    assert any(one.value.startswith("Nobody has offered") for one in sound(seen.run()).info)


def test_an_offer_can_be_taken_back_after_the_page_was_loaded_anew_and_holds_for_its_class_alone(db: Database) -> None:
    at, other = a_class(db), a_class(db)
    seat = a_learner(db, at)
    offer(db, seat.member, "The dog sleeps.")
    app = sitting(seat)
    assert "Your teacher may show **The dog sleeps.** to the class." in plain(markdown(app))
    assert "may show" not in markdown(sitting(a_learner(db, other)))
    press(app, "Take it back")
    assert people(db, at.teacher)[0].sentence == ""
    assert "may show" not in markdown(app)


def test_who_teaches_and_learns_in_one_browser_sees_both_lines_and_the_page(db: Database) -> None:
    at = a_class(db)
    app = AppTest.from_file(ROUTER, default_timeout=60)
    app.session_state[MEMBER], app.session_state[DESK] = a_learner(db, at), at
    sound(go_to(app, "masking").run())
    assert "Masking" in [one.value for one in app.title]
    code = at.teacher.code
    assert {f"Class **{code}**", f"You teach **{code}** · 1 here"} <= {one.value for one in app.markdown}


def test_who_leaves_is_asked_for_the_code_again(db: Database) -> None:
    at = a_class(db)
    app = press(sitting(seat := a_learner(db, at)), "Leave and delete my answers")
    assert [box.label for box in app.text_input if box.key == "class/code"]
    assert not people(db, at.teacher)
    for _ in range(2):  # who joins again is somebody else, each time: nothing leads back to whom they were
        app.text_input(key="class/code").input(at.teacher.code)
        tokens = {seat.token, (seat := press(app, "Join").session_state[MEMBER]).token}
        assert len(tokens) == 2
        press(app, "Leave and delete my answers")


@ON_BOTH
def test_a_link_of_another_class_moves_a_learner_at_the_press_of_a_button_alone(db: Database) -> None:
    old, new = a_class(db), a_class(db)
    ada = a_learner(db, old, "*Ada*")
    answer(db, ada.member, ask(db, old.teacher, PRIMES), frozenset({1}))
    app = sitting(ada, code=new.teacher.code.lower())
    codes = f"the class **{new.teacher.code}**, but you are in the class **{old.teacher.code}** as ***Ada***."
    assert codes in warnings(app)[0]
    for _ in range(2):
        assert [len(people(db, at.teacher)) for at in (old, new)] == [1, 0]
        sound(app.run())
    press(app, f"Leave {old.teacher.code} and join {new.teacher.code}")
    assert not warnings(app)
    assert f"You are in the class **{new.teacher.code}** as ***Ada***." in plain(markdown(app))
    assert [[one.nickname for one in people(db, at.teacher)] for at in (old, new)] == [[], ["*Ada*"]]
    seat = app.session_state[MEMBER]
    assert seat.token != ada.token  # nothing leads back to whom they were
    assert cookies(app)["walkthrough_learner"] == f"{new.teacher.code}.{seat.token}"
    assert "code" not in app.query_params


@pytest.mark.parametrize("why", ["there is none", "it is locked"])
def test_whoever_is_not_let_into_another_class_stays_in_theirs(why: str, db: Database) -> None:
    old, new = a_class(db), a_class(db)
    app = sitting(ada := a_learner(db, old), code=new.teacher.code)
    if why == "there is none":
        delete_class(db, new.teacher)
    else:
        lock_class(db, new.teacher, True)
    press(app, f"Leave {old.teacher.code} and join {new.teacher.code}")
    assert warnings(app)[1] == (NO_CLASS if why == "there is none" else LOCKED)
    assert app.session_state[MEMBER] == ada
    assert len(people(db, old.teacher)) == 1


def test_whoever_could_not_leave_takes_one_seat_however_often_they_press(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = a_class(db), a_class(db)
    app = sitting(ada := a_learner(db, old), code=new.teacher.code)

    def full(*_: object) -> None:
        raise FullError(NOT_LEFT)

    with monkeypatch.context() as patch:
        patch.setattr("classroom.members.delete_rows", full)
        for _ in range(2):
            press(app, f"Leave {old.teacher.code} and join {new.teacher.code}")
            assert warnings(app)[1] == NOT_LEFT
            assert app.session_state[MEMBER] == ada
    press(app, f"Leave {old.teacher.code} and join {new.teacher.code}")
    assert [len(people(db, at.teacher)) for at in (old, new)] == [0, 1]


@pytest.mark.parametrize("code", ["", "own", "x", HOSTILE, "x" * 10_000])
def test_a_link_of_no_other_class_says_nothing(code: str, db: Database) -> None:
    ada = a_learner(db, a_class(db))
    assert not warnings(sitting(ada, code=ada.code.lower() if code == "own" else code))


def test_where_a_learner_is_is_noted_and_the_teachers_word_moves_them(db: Database) -> None:
    at = a_class(db)
    app = sitting(a_learner(db, at), "tokenization")
    assert people(db, at.teacher)[0].page == "tokenization"
    assert STAND_SECONDS + LOOK_SECONDS < HERE_SECONDS  # who stays there is still here for the teacher
    send(db, at.teacher, "masking", {"sentence": "A dog sees a cat.", "layer": "2"}, frozenset(["masking"]))
    fresh()
    there = {"page": "masking", "state": {"sentence": "A dog sees a cat.", "layer": "2"}, "attempt": 0}
    assert component(sound(app.run()), "go") == there
    fresh()
    assert component(sound(app.run()), "go") == there  # until they come
    for page in ("masking", "tokenization"):
        fresh()
        assert not going(sound(go_to(app, page).run()))  # and not again when they leave
    late = sitting(a_learner(db, at, "Bob"), "tokenization")  # who comes later is asked
    assert not going(late)
    late.session_state["kept"] = {"layer": 1}  # on the page before; there it is to be just as the address says
    assert component(press(late, "Go where everyone is"), "go") == there
    assert "kept" not in late.session_state
    assert not going(sound(late.run()))


@pytest.mark.parametrize(
    ("later", "attempt"),
    [(AGAIN_SECONDS - 1, 0), (AGAIN_SECONDS, 1), (GIVEN_UP_SECONDS, 3), (GIVEN_UP_SECONDS + 1, None)],
)
def test_who_does_not_come_is_sent_again_and_in_the_end_left_in_peace(
    db: Database, monkeypatch: pytest.MonkeyPatch, later: float, attempt: int | None
) -> None:
    at = a_class(db)
    app = sitting(a_learner(db, at), "tokenization")
    send(db, at.teacher, "masking", {}, frozenset(["masking"]))
    begin = time.monotonic()
    monkeypatch.setattr(strip_module.time, "monotonic", lambda: begin)
    fresh()
    assert component(sound(app.run()), "go")["attempt"] == 0
    monkeypatch.setattr(strip_module.time, "monotonic", lambda: begin + later)
    sound(app.run())
    assert (component(app, "go")["attempt"] if going(app) else None) == attempt
    # Whoever is being sent needs no button for it.
    assert ("Go where everyone is" in [one.label for one in app.button]) == (attempt is None)


def test_a_choice_that_was_not_sent_is_still_there_after_the_class_was_elsewhere(db: Database) -> None:
    at = a_class(db)
    poll = ask(db, at.teacher, PRIMES)
    app = sitting(a_learner(db, at))
    app.radio[0].set_value(1).run()
    sound(go_to(app, "masking").run())
    question = next(radio for radio in app.radio if radio.key.startswith("masking/"))
    question.set_value(2).run()
    sound(go_to(app, "join").run())
    assert app.radio(key=f"class/{poll}").value == 1
    press(app, "Answer")
    assert overview(db, at.teacher).polls[0].counts == (0, 1, 0)
    sound(go_to(app, "masking").run())
    assert app.radio(key=question.key).value == 2


def test_a_question_half_written_survives_a_look_at_the_class(db: Database) -> None:
    app = standing(a_class(db))
    next(group for group in app.button_group if group.key == "source").set_value("Your own").run()
    app.text_area(key="teach/text").input("Which is prime?").run()
    app.text_area(key="teach/options").input("4\n5").run()
    app.selectbox(key="teach/right").set_value(1).run()
    for part in ("Invitation", "Questions"):
        next(group for group in app.button_group if group.key == "desk").set_value(part).run()
    sound(go_to(app, "masking").run())
    app.query_params["desk"] = "Questions"
    sound(go_to(app, "teach").run())
    assert app.text_area(key="teach/text").value == "Which is prime?"
    assert app.text_area(key="teach/options").value == "4\n5"
    assert app.selectbox(key="teach/right").value == 1


def going(app: AppTest) -> bool:
    return any(one.key == "go" for one in app.get("bidi_component"))


# --- the teacher -----------------------------------------------------------------------------------------------------


def test_a_class_is_opened_and_its_link_brings_one_back(db: Database) -> None:
    app = opened(TEACH)
    app.text_input(key="teach/title").input("Physics")
    press(app, "Open a class")
    (code,) = (
        re.findall(r'<p class="tw-code".*?>(.*?)</p>', e.proto.body)[0]
        for e in app.get("html")
        if e.proto.body.startswith('<p class="tw-code')
    )
    (link,) = (block.value for block in app.code)
    found = re.fullmatch(r".*/teach\?class=(\w+)&secret=([\w-]+)", link)
    assert found
    assert found[1] == code
    again = opened(TEACH, **{"class": found[1], "secret": found[2]})
    assert code in " ".join(e.proto.body for e in again.get("html"))
    assert {"class", "secret"} & set(again.query_params) == set()
    assert "**0** joined" in markdown(again)
    a_learner(db, again.session_state[DESK])
    assert "**1** joined · **1** here now" in markdown(sound(again.run()))


def test_a_link_that_came_while_the_store_was_busy_is_tried_again(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = a_class(db)

    def busy(*_: object) -> None:
        raise BusyError(BUSY)

    with monkeypatch.context() as patch:
        patch.setattr("classroom.classes.teach", busy)
        app = opened(TEACH, **{"class": at.teacher.code, "secret": at.secret})
        assert warnings(app) == [BUSY]
        assert {"class", "secret"} & set(app.query_params) == set()
    assert not warnings(sound(app.run()))
    assert app.session_state[DESK].teacher == at.teacher


def test_a_browser_has_one_class_at_a_time_and_says_so_where_it_is_opened(db: Database) -> None:
    app = opened(TEACH)
    assert "A browser has one class at a time" in markdown(app)
    press(app, "Open a class")
    assert "Open a class" not in [one.label for one in app.button]
    assert app.session_state[DESK].secret


def test_whose_class_was_deleted_on_another_device_is_told_so_where_the_next_is_opened(db: Database) -> None:
    app = standing(at := a_class(db), "Invitation")
    delete_class(db, at.teacher)
    sound(app.run())
    for _ in range(2):
        assert warnings(sound(app.run())) == [ENDED]
    press(app, "Open a class")
    assert not warnings(app)


def test_two_devices_of_a_teacher_do_not_undo_each_others_lock(db: Database) -> None:
    at = a_class(db)
    laptop, phone = standing(at, "Invitation"), standing(at, "Invitation")
    ways = "Let nobody else in", "Let others in again"
    for app, other, locked in ((laptop, phone, True), (phone, laptop, False)):
        late = next(one for one in app.button if one.label == ways[not locked])
        press(app, ways[not locked])
        late.click().run()  # a second click, which came late
        for one in (app, other, app):
            assert [button.label for button in sound(one.run()).button if button.label in ways] == [ways[locked]]
            assert overview(db, at.teacher).locked == locked


def test_what_went_wrong_is_said_for_as_long_as_one_reads(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    app = standing(a_class(db), "Invitation")

    def busy(*_: object) -> None:
        raise BusyError(BUSY)

    with monkeypatch.context() as patch:
        patch.setattr("classroom.classes.lock_class", busy)
        app.run()
        press(app, "Let nobody else in")
    now = time.monotonic()
    for later, said in ((1, [BUSY]), (9, [BUSY]), (12, [])):
        monkeypatch.setattr(room_module.time, "monotonic", lambda later=later: now + later)
        assert warnings(sound(app.run())) == said


def test_a_question_asked_twice_by_a_double_click_is_asked_once(db: Database) -> None:
    at = a_class(db)
    first = ask(db, at.teacher, PRIMES)
    assert ask(db, at.teacher, PRIMES) == first
    assert len(overview(db, at.teacher).polls) == 1
    set_state(db, at.teacher, first, revealed=True)
    second = ask(db, at.teacher, PRIMES)  # again, after all have talked about it
    assert second != first
    set_state(db, at.teacher, second, closed=True)
    assert ask(db, at.teacher, PRIMES) not in (first, second)


def test_a_full_disk_on_which_nothing_can_be_swept_closes_no_class(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Database) -> None:
        raise FullError(FULL)

    seat = a_learner(db, a_class(db))
    monkeypatch.setattr(room_module, "sweep", full)
    room_module.room.clear()
    assert not warnings(sitting(seat))


def test_a_box_takes_no_longer_name_than_a_class_keeps() -> None:
    assert opened(TEACH).text_input(key="teach/title").max_chars == MAX_TITLE
    assert opened(JOIN).text_input(key="class/nickname").max_chars == MAX_NICKNAME


@pytest.mark.parametrize("secret", ["", "wrong", HOSTILE, "x" * 10_000])
def test_without_the_secret_a_teachers_link_shows_nothing_of_the_class(secret: str, db: Database) -> None:
    at = a_class(db, "Secret society")
    app = opened(TEACH, **{"class": at.teacher.code, "secret": secret})
    (said,) = warnings(app)
    assert said.startswith("This is not the teacher's link of a class")
    assert "Secret society" not in markdown(app)
    assert [button.label for button in app.button if button.label == "Open a class"]


def test_wrong_secrets_and_a_link_of_another_class_take_no_teacher_their_class(db: Database) -> None:
    at, other = a_class(db), a_class(db)
    for _ in range(25):
        with pytest.raises(NotTheTeacherError):
            teach_class(db, at.teacher.code, "wrong", "this machine")
    app = standing(at, **{"class": other.teacher.code, "secret": other.secret})
    assert app.session_state[DESK] == at
    (said,) = warnings(app)
    assert said.startswith(f"The link is of another class, **{other.teacher.code}**.")
    assert app.session_state[DESK] == at
    press(app, f"Change to the class {other.teacher.code}")
    assert app.session_state[DESK] == other
    assert not [key for key in cookies(app) if "teacher" in key and not cookies(app)[key]]


def test_a_wrong_link_and_a_lockout_erase_no_cookie(db: Database) -> None:
    at = a_class(db)
    app = opened(TEACH, **{"class": at.teacher.code, "secret": "wrong"})
    assert cookies(app) == {}
    app = standing(at, "End")
    app.checkbox(key="teach/sure").check().run()
    assert cookies(press(app, "Delete everything"))["walkthrough_teacher"] == ""  # only what this page deleted


def cookies(app: AppTest) -> dict[str, str]:
    """What the page has the browser keep."""
    found = (json.loads(e.proto.json) for e in app.get("bidi_component") if "cookie_" in e.proto.id)
    return {one["cookie"]: one["value"] for one in found if one["cookie"].startswith("walkthrough_")}


@pytest.mark.parametrize(("comes_from", "counts"), [("192.168.1.7", "192.168.1.7"), (None, "this machine")])
def test_a_made_up_header_is_nobodys_address(
    comes_from: str | None, counts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = SimpleNamespace(ip_address=comes_from, headers={"X-Forwarded-For": "203.0.113.5"}, cookies={})
    monkeypatch.setattr(room_module, "st", SimpleNamespace(context=context))
    assert room_module.address() == counts


def test_who_stays_on_a_page_stays_here(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    at, now = a_class(db), seconds()
    app = sitting(a_learner(db, at), "masking")
    begin = time.monotonic()
    for later in range(45, 300, 45):
        monkeypatch.setattr(strip_module.time, "monotonic", lambda at=begin + later: at)
        monkeypatch.setattr(members_module, "seconds", lambda at=now + later: at)
        sound(app.run())
        assert overview(db, at.teacher, now + later + 44).here == 1, later


def test_who_left_in_one_tab_is_told_so_in_the_other(db: Database) -> None:
    at = a_class(db)
    ada = a_learner(db, at)
    one, two = sitting(ada), sitting(ada)
    press(one, "Leave and delete my answers")
    fresh()
    is_out(sound(two.run()), LEFT)


@ON_BOTH
@pytest.mark.parametrize("found_out", ["as they look", "as they press"])
def test_whose_class_is_over_is_told_so_and_nothing_else_is_said_of_it(found_out: str, db: Database) -> None:
    at, other = a_class(db), a_class(db)
    app = sitting(a_learner(db, at))
    delete_class(db, at.teacher)
    if found_out == "as they look":
        fresh()
        sound(app.run())
    else:
        press(app, "Let my teacher show the sentence above")
    is_out(app, ENDED)
    is_out(sound(app.run()), ENDED)
    app.text_input(key="class/code").input(other.teacher.code)
    press(app, "Join")
    assert not warnings(app)
    assert f"You are in the class **{other.teacher.code}**." in markdown(app)
    ask(db, other.teacher, PRIMES)
    fresh()
    assert not warnings(sound(app.run()))
    assert "walkthrough_learner" in cookies(press(app, "Leave and delete my answers"))


def is_out(app: AppTest, why: str) -> None:
    """The page tells a learner why they are in no class, and asks for a code: no word of what one does in a class."""
    assert warnings(app) == [why]
    assert "You are in" not in markdown(app)
    assert not app.info
    assert not app.subheader
    assert app.text_input(key="class/code").label == "Code of the class"
    labels = {one.label for one in app.button}
    assert "Join" in labels
    assert not labels & {"Let my teacher show the sentence above", "Leave and delete my answers"}


@ON_BOTH
def test_a_question_of_a_lesson_is_asked_and_its_answers_come_in(db: Database) -> None:
    at = a_class(db)
    seats = [a_learner(db, at, str(n)) for n in range(3)]
    app = standing(at)
    app.selectbox(key="teach/lesson").set_value("Masking").run()
    app.selectbox(key="teach/masking").set_value(2).run()
    press(app, "Ask the class")
    (poll,) = overview(db, at.teacher).polls
    assert poll.asked.lesson == "masking"
    assert poll.asked.text.endswith("\n\n*The sentence:* “I ate an apple”")
    assert progress(app) == [(0, "**0** of 3 have answered. What they answered is hidden.")]
    for seat in seats[:2]:
        answer(db, seat.member, poll.poll_id, frozenset({min(poll.asked.right)}))
    assert progress(sound(app.run())) == [(66, "**2** of 3 have answered. What they answered is hidden.")]
    press(app, "Reveal the answers")
    assert [share for share, _ in progress(app)].count(100) == 1
    assert "Close it to show which answer is right." in captions(app)
    press(app, "Close it")
    assert overview(db, at.teacher).polls[0].closed
    assert any("**right** ✓" in text for _, text in progress(app))
    press(app, "Open it again")
    press(app, "Hide the answers")
    (poll,) = overview(db, at.teacher).polls
    assert (poll.closed, poll.revealed) == (False, False)


@pytest.mark.parametrize("sentence", ["My neighbour's cat doesn't like the rain.", *questions_module.OTHERS])
def test_only_a_question_about_a_sentence_names_it(sentence: str, db: Database) -> None:
    at = a_class(db)
    app = standing(at, sentence=sentence)
    for lesson, key, about in (
        ("Before attention", "before-attention", [True, True]),
        ("Masking", "masking", [False, True]),
        ("Tokenization", "tokenization", [True, True, False]),
        ("ViT: a picture as words", "a-picture-as-words", [False, False, False]),
    ):
        app.selectbox(key="teach/lesson").set_value(lesson).run()
        for n, named in enumerate(about, 1):
            app.selectbox(key=f"teach/{key}").set_value(n).run()
            press(app, "Ask the class")
            (preview,) = (one for one in elements(app.main) if getattr(one, "key", None) == "class_preview")
            words = f"*The sentence:* “{sentence}”"
            assert (words in plain(preview.children[0].value)) == named, (lesson, n)
            assert (words in plain(overview(db, at.teacher).polls[0].asked.text)) == named, (lesson, n)


def test_a_question_of_ones_own_is_asked_as_it_was_typed(db: Database) -> None:
    at = a_class(db)
    app = standing(at)
    next(group for group in app.button_group if group.key == "source").set_value("Your own").run()
    app.text_area(key="teach/text").input("Is $x$ **bold**?").run()
    app.text_area(key="teach/options").input(f"yes\n\n {HOSTILE}\n").run()
    app.selectbox(key="teach/right").set_value(1).run()
    press(app, "Ask the class")
    (poll,) = overview(db, at.teacher).polls
    assert poll.asked == Asked("Is $x$ **bold**?", ("yes", HOSTILE), frozenset({1}))
    assert "\\$x\\$" in markdown(app)
    app.selectbox(key="teach/right").set_value(None).run()
    press(app, "Ask the class")
    press(app, "Reveal the answers")
    assert not [said for said in captions(app) if "is right" in said], "nobody has said which answer is"
    app.text_area(key="teach/options").input("only one").run()
    press(app, "Ask the class")
    (said,) = warnings(app)
    assert said.startswith("A question needs two to")


def test_what_a_learner_answers_right_in_a_lesson_is_told_and_nothing_else(db: Database) -> None:
    at = a_class(db)
    app = AppTest.from_file(ROUTER, default_timeout=60)
    app.session_state[MEMBER] = a_learner(db, at)
    app.session_state["answers"] = {("no-lesson", "x"): True, ("encoder", "apart"): True, ("encoder", "of old"): True}
    app.session_state["question_counts"] = {"no-lesson": 3, "encoder": 1}
    sound(go_to(app, "masking").run())
    assert people(db, at.teacher)[0].progress == {"encoder": (1, 1)}
    questions: list[Question] = app.session_state["asked"][1]
    for right in (True, False):
        (option, *_) = (n for n in range(4) if (n in questions[0].correct) == right)
        give_answer(app, "masking", 0, option)
        told = people(db, at.teacher)[0].progress
        assert told == {"encoder": (1, 1), "masking": (int(right), len(questions))}


def test_all_right_is_who_has_answered_as_many_as_the_lesson_asks_now(db: Database) -> None:
    """The browser of one learner knows the lesson from a time when it asked less."""
    at = a_class(db)
    for name, counts in (("Ada", (3, 3)), ("Bob", (2, 2))):
        report(db, a_learner(db, at, name).member, {"masking": counts})
    said = "Masking: **5** of 6 answered right. All right: **1** of 2 learners."
    assert progress(standing(at, "Progress")) == [(83, said)]
    # A cookie may hold anything: what most say counts.
    for name, counts in (("Cleo", (2, 3)), ("Dora", (99, 99))):
        report(db, a_learner(db, at, name).member, {"masking": counts})
    said = "Masking: **10** of 12 answered right. All right: **2** of 4 learners."
    assert progress(standing(at, "Progress")) == [(83, said)]


def test_who_has_no_nickname_is_called_by_a_number_that_stays(db: Database) -> None:
    at = a_class(db)
    for name in ("a", "b", "c"):
        seat = Seat(join(db, at.teacher.code, name, "", "school"), at.teacher.code, name)
        report(db, seat.member, {"masking": (1, 2)})
        if name == "a":
            press(sitting(seat), "Leave and delete my answers")
    app = standing(at, "Progress")
    sound(app.toggle(key="teach/each").set_value(True).run())
    (body,) = (e.proto.body for e in app.get("html") if "Answered right" in e.proto.body)
    assert re.findall(r"Learner \d", body) == ["Learner 2", "Learner 3"]


def test_beside_a_page_stand_twelve_nicknames_and_how_many_more_there_are() -> None:
    names = [*"abcdefghijkl"]
    assert where._names([*names[:6], "", *names[6:], ""]) == ", ".join(names)
    assert where._names(["", *names, "m", "n"]) == f"{', '.join(names)} and 2 more"


@ON_BOTH
def test_everyone_here_now_sends_the_page_and_its_state(db: Database) -> None:
    at = a_class(db)
    app = AppTest.from_file(ROUTER, default_timeout=60)
    app.session_state[DESK] = at
    app.query_params.update({"sentence": "A dog.", "present": "true", "secret": "x", "step": "2"})
    sound(go_to(app, "masking").run())
    press(app, "Everyone here now")
    place = overview(db, at.teacher).place
    assert place
    assert (place.page, dict(place.state)) == ("masking", {"sentence": "A dog."})


def test_why_the_class_was_not_sent_stands_until_the_next_press(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    at = a_class(db)
    app = standing(at, page="masking", sentence="a " * 1100)

    def typed(sentence: str) -> None:
        app.query_params["sentence"] = sentence
        sound(app.run())

    app = press(app, "Everyone here now")
    (said,) = warnings(app)
    assert said.startswith("The class cannot be sent there: the address of that page is too long")
    for _ in range(3):  # looks at the class, one every two seconds
        assert warnings(sound(app.run())) == [said]

    def busy(*_: object) -> None:
        raise BusyError(BUSY)

    typed("A dog.")
    with monkeypatch.context() as patch:
        patch.setattr(strip_module, "send", busy)
        press(app, "Everyone here now")
    assert warnings(sound(app.run())) == [BUSY]
    assert not warnings(sound(go_to(app, "encoder").run()))  # of another page it says nothing
    assert not warnings(sound(go_to(app, "masking").run()))
    typed("a " * 1100)
    assert warnings(press(app, "Everyone here now")) == [said]
    typed("A dog.")
    assert warnings(app) == [said]
    assert not warnings(press(app, "Everyone here now"))
    place = overview(db, at.teacher).place
    assert place
    assert place.state["sentence"] == "A dog."


def chosen(app: AppTest, seat: Seat) -> AppTest:
    """At a desk, a learner whose name is to change, or who is to leave."""
    called = f"{seat.member.nickname} · learner {seat.member.learner_id}"
    return sound(app.selectbox(key="teach/learner").set_value(called).run())


def test_who_is_taken_out_is_told_so_wherever_they_are_and_sees_nothing_of_the_class(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = a_class(db, "Secret society")
    ada, bob = a_learner(db, at), a_learner(db, at, "Bob")
    answer(db, ada.member, ask(db, at.teacher, PRIMES), frozenset({1}))
    pages = sitting(ada), sitting(ada, "masking")
    desk = chosen(standing(at, "Who is where"), ada)
    assert next(one for one in desk.button if one.label == "Remove").disabled
    desk.checkbox(key=f"teach/sure_of/{ada.member.learner_id}").check().run()
    press(desk, "Remove")
    assert [one.nickname for one in people(db, at.teacher)] == ["Bob"]
    assert desk.selectbox(key="teach/learner").value is None
    assert "Ada" not in results(db, at.teacher).decode()
    monkeypatch.setattr(room_module, "code_and_secret", lambda cookie: (ada.code, ada.token))
    fresh()
    for app in (pages[0], go_to(AppTest.from_file(ROUTER, default_timeout=60), "join")):  # and after a reload
        is_out(sound(app.run()), TAKEN_OUT)
        assert not {"Secret society", ada.code} & set(re.findall(r"Secret society|\w{6}", str(read(app))))
    assert warnings(sound(pages[1].run())) == [TAKEN_OUT]
    assert ada.code not in markdown(pages[1])
    assert not warnings(sitting(bob))


def test_a_learner_sees_the_name_that_their_teacher_gave_them(db: Database) -> None:
    at = a_class(db)
    ada, bob = a_learner(db, at), a_learner(db, at, "Bob")
    apps = sitting(ada), sitting(ada, "masking")
    desk = chosen(standing(at, "Who is where"), ada)
    box = desk.text_input(key=f"teach/nickname/{ada.member.learner_id}")
    assert (box.value, box.proto.max_chars) == ("Ada", MAX_NICKNAME)
    box.input(HOSTILE[:20])
    press(desk, "Rename")
    assert people(db, at.teacher)[0].nickname == HOSTILE[:20]
    fresh()
    for app in apps:
        assert sound(app.run()).session_state[MEMBER].member.nickname == HOSTILE[:20]
    assert f"as **{HOSTILE[:20]}**" in plain(markdown(apps[0]))
    chosen(desk, bob)
    leave(db, bob.member)
    press(desk, "Rename")  # too late
    assert warnings(desk) == [NO_LEARNER]
    assert len(desk.selectbox(key="teach/learner").options) == 1
    leave(db, ada.member)
    assert not sound(desk.run()).selectbox


@ON_BOTH
def test_a_secret_link_that_leaked_is_replaced(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    at = a_class(db, "Secret society")
    desks = [standing(at, part) for part in PARTS]
    lesson, desk = standing(at, page="masking"), standing(at, "End")
    link = {"class": at.teacher.code, "secret": at.secret}
    assert next(one for one in desk.button if one.label == "New secret link").disabled
    desk.checkbox(key="teach/sure_of_link").check().run()
    press(desk, "New secret link")
    new = desk.session_state[DESK]
    assert new.secret != at.secret
    assert cookies(desk)["walkthrough_teacher"] == f"{at.teacher.code}.{new.secret}"
    if db.engine.dialect.name == "sqlite":
        book = of_class(new, "teach", {}).book
        assert not compare(list(end(book, renewed=True)), shown_from(desk, "markdown")[2:])
    monkeypatch.setattr(room_module, "code_and_secret", lambda cookie: (at.teacher.code, at.secret))
    reloaded = go_to(AppTest.from_file(ROUTER, default_timeout=60), "teach")
    for app, why in (*((one, REPLACED) for one in desks), (reloaded, NO_DESK)):
        assert warnings(sound(app.run())) == [why]
        assert not {"Secret society", at.teacher.code} & set(re.findall(r"Secret society|\w{6}", str(read(app))))
        assert not cookies(app)  # the browser may keep the new one by now
    assert warnings(sound(lesson.run())) == [REPLACED]
    assert warnings(opened(TEACH, **link))[0] == NOT_YOURS
    # The new link takes an old desk back, and is of no other class.
    assert standing(at, **link | {"secret": new.secret}).session_state[DESK] == new
    assert not [*warnings(sound(desk.run())), *desk.success]


@ON_BOTH
def test_the_results_and_the_end(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    at, saved_as, draw = a_class(db), [], st.download_button
    monkeypatch.setattr(st, "download_button", lambda *args, **more: saved_as.append(args[2]) or draw(*args, **more))
    ada = a_learner(db, at)
    answer(db, ada.member, ask(db, at.teacher, PRIMES), frozenset({1}))
    app = standing(at, "End")
    assert "Questions: **1**. Answers: **1**. Learners: **1**." in markdown(app)
    assert set(saved_as) == {f"class-{at.teacher.code}.csv"}
    assert next(button for button in app.button if button.label == "Delete everything").disabled
    app.checkbox(key="teach/sure").check().run()
    press(app, "Delete everything")
    assert [button.label for button in app.button if button.label == "Open a class"]
    fresh()
    assert sitting(ada).session_state[MEMBER] is None
    learner = AppTest.from_file(ROUTER, default_timeout=60)
    learner.session_state[MEMBER] = ada
    assert warnings(go_to(learner, "masking").run()) == ["This class is over: its teacher or its age has deleted it."]


@pytest.mark.parametrize("sentence", ["", " \x00", ".", "x" * 10_000, HOSTILE])
def test_a_question_is_asked_whatever_stands_in_the_bar(sentence: str, db: Database) -> None:
    app = standing(a_class(db))
    app.text_input(key="sentence").input(sentence).run()
    press(app, "Ask the class")
    assert not warnings(app)


# --- the store's troubles --------------------------------------------------------------------------------------------


def test_without_the_store_lessons_go_on_and_the_class_says_one_sentence(db: Database, tmp_path: Path) -> None:
    at = a_class(db)
    ada = a_learner(db, at)
    (tmp_path / "classes.db").rename(tmp_path / "moved")
    fresh()
    for app, title in ((sitting(ada, "masking"), "Masking"), (standing(at, page="masking"), "Masking")):
        assert set(warnings(app)) == {GONE}
        assert [one.value for one in app.title] == [title]
    assert set(warnings(sitting(ada))) == {GONE}
    assert set(warnings(standing(at))) == {GONE}
    (tmp_path / "moved").rename(tmp_path / "classes.db")
    fresh()
    sitting(ada)
    fresh()
    assert not warnings(sitting(ada))


NO_ROOM = """CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN
    RAISE 'could not extend file' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql;
    CREATE TRIGGER full_disk BEFORE INSERT ON answers EXECUTE FUNCTION full_disk()"""


@pytest.mark.parametrize("db", ["postgresql"], indirect=True)
def test_an_answer_that_found_no_room_can_be_sent_again(db: Database) -> None:
    at = a_class(db)
    ask(db, at.teacher, PRIMES)
    app = sitting(a_learner(db, at))
    app.radio[0].set_value(1).run()
    with db.writing() as session:
        session.execute(text(NO_ROOM))
    press(app, "Answer")
    assert warnings(app) == [FULL]
    assert app.radio[0].value == 1
    with db.writing() as session:
        session.execute(text("DROP TRIGGER full_disk ON answers"))
    press(app, "Answer")
    assert not warnings(app)
    assert overview(db, at.teacher).polls[0].counts == (0, 1, 0)


def test_a_choice_outlasts_a_store_that_was_gone_for_a_while(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room_module, "SAID_SECONDS", 0)
    at = a_class(db)
    ask(db, at.teacher, PRIMES)
    app = sitting(a_learner(db, at))
    app.radio[0].set_value(1).run()
    (tmp_path / "classes.db").rename(tmp_path / "moved")
    fresh()
    press(app, "Answer")
    assert set(warnings(app)) == {GONE}
    sound(app.run())
    (tmp_path / "moved").rename(tmp_path / "classes.db")
    for _ in range(3):  # it is opened anew
        fresh()
        sound(app.run())
    assert not warnings(app)
    assert app.radio[0].value == 1
    press(app, "Answer")
    assert overview(db, at.teacher).polls[0].counts == (0, 1, 0)


@ON_BOTH
def test_a_store_of_a_newer_version_is_one_sentence_and_lessons_go_on(db: Database) -> None:
    at = a_class(db)
    ada = a_learner(db, at)
    with db.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '999'"))
    room_module.room.clear()
    for app in (opened(JOIN, code=at.teacher.code), opened(TEACH)):
        next(one for one in app.button if one.label in ("Join", "Open a class")).click().run()
        assert warnings(sound(app)) == [NEWER]
    for app in (sitting(ada, "masking"), standing(at, page="masking")):
        assert warnings(app) == [NEWER]
        assert [one.value for one in app.title] == ["Masking"]
    with db.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '4'"))
    db.close()  # the pages have opened it anew
    assert not warnings(sitting(ada))


# --- nothing is shown that no oracle claims --------------------------------------------------------------------------

PARTS = ("Invitation", "Questions", "Who is where", "Progress", "Sentences", "End")


@pytest.fixture
def busy(db: Database) -> tuple[Desk, list[Seat]]:
    """A class in the middle of a lesson: 17 learners, one gone; three questions, the newest open and hidden."""
    at = a_class(db, "Physics & <b>more</b>")
    seats = [a_learner(db, at, name) for name in ("Ada", HOSTILE[:20], *(f"N{n}" for n in range(15)))]
    draw = random.Random(5)
    for n, seat in enumerate(seats):
        stand(db, seat.member, ("masking", "", "encoder", "bertviz")[0 if n > 4 else n % 4])
        report(db, seat.member, {"masking": (draw.randint(0, 2), 2)} | ({"encoder": (4, 4)} if n % 3 else {}))
    nobody = Seat(join(db, at.teacher.code, "token", "", "school", seconds() - 3600), at.teacher.code, "token")
    offer(db, seats[1].member, "The dog <b>sleeps</b>")
    for asked in (
        Asked("From a lesson?", ("yes", "no", "so"), frozenset({0}), "It is.", lesson="masking"),
        Asked("Which are even?", ("4", "5", "6"), frozenset({0, 2}), "5 is not.", several=True),
        PRIMES,
    ):
        poll = ask(db, at.teacher, asked)
        for seat in draw.sample(seats, draw.randint(3, 15)):
            several = asked.several and draw.random() < 0.5
            answer(db, seat.member, poll, frozenset({0, 2} if several else {draw.randint(0, 2)}))
    return at, [*seats, nobody]


def test_a_class_in_which_nothing_has_happened_is_claimed(db: Database) -> None:
    at = a_class(db)
    for part in PARTS:
        assert not unclaimed(standing(at, part), teach, of_class(at, "teach", {"desk": part})), part


def test_every_statement_of_a_teachers_side_is_claimed(db: Database, busy: tuple[Desk, list[Seat]]) -> None:
    at, _ = busy
    send(db, at.teacher, "encoder", {}, frozenset(["encoder"]))
    states = [{"desk": part} for part in PARTS] + [{"desk": "Questions", "source": "Your own"}]
    for state in states:
        app = standing(at, **state)
        assert not unclaimed(app, teach, of_class(at, "teach", state)), state
    app.query_params["desk"] = "Questions"
    for closed, revealed in ((False, True), (True, True), (True, False)):
        set_state(db, at.teacher, overview(db, at.teacher).polls[0].poll_id, closed=closed, revealed=revealed)
        assert not unclaimed(sound(app.run()), teach, of_class(at, "teach", state)), (closed, revealed)
    for number, called in ((2, f"{HOSTILE[:20]} · learner 2"), (18, "Learner 18")):  # who is here, and who is not
        app = standing(at, "Who is where")
        app.selectbox(key="teach/learner").set_value(called).run()
        assert not compare(list(one_learner(of_class(at, "teach", {}).book, number)), shown_from(app, "fold"))
    app = standing(at, "Progress")
    app.toggle(key="teach/each").set_value(True).run()
    ((rows,),) = ([s for s in progress_claims(of_class(at, "teach", {}).book, True) if s.kind == "table"],)
    assert not compare([rows], [s for s in read(app) if s.kind == "table"])
    app = standing(at, page="masking")
    assert not compare(list(strip(of_class(at, "masking", {}))), shown_strip(app))


def test_every_statement_of_a_learners_side_is_claimed(db: Database, busy: tuple[Desk, list[Seat]]) -> None:
    at, seats = busy
    newest = overview(db, at.teacher).polls[0].poll_id
    given = [bool(chosen_in(db, seat.member, newest)) for seat in seats]
    for seat in (seats[given.index(True)], seats[given.index(False)], seats[-1]):
        app = sitting(seat)
        for closed, revealed in ((False, False), (False, True), (True, True), (True, False)):
            set_state(db, at.teacher, newest, closed=closed, revealed=revealed)
            fresh()
            page = of_class(at, "join", {}, seat.member.learner_id)
            assert not unclaimed(sound(app.run()), join_claims, page), (closed, revealed, seat.member.nickname)
        send(db, at.teacher, "encoder", {}, frozenset(["encoder"]))
        fresh()
        app = sitting(seat, "masking")
        assert not compare(list(strip(of_class(at, "masking", {}, seat.member.learner_id))), shown_strip(app))


def shown_from(app: AppTest, kind: str) -> list[Statement]:
    """The end of a page, from its first statement of a kind."""
    return list(itertools.dropwhile(lambda one: one.kind != kind, (one for one in read(app) if one.part == "frame")))


def of_class(at: Desk, page: str, state: dict[str, str], me: int | None = None) -> ClassPage:
    file = Path(str(room_module.room().db.engine.url.database))
    return ClassPage(page, state, Book(file, at.teacher.code), me, at.secret)


def shown_strip(app: AppTest) -> list[Statement]:
    (block,) = (one for one in elements(app.main) if getattr(one, "key", None) in ("class_strip", "class_desk"))
    return read_block(block, "")
