"""The store's own troubles: each is one sentence, and nothing that was confirmed is lost."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event, text

from classroom.classes import NOT_DELETED, Teacher, delete_class, open_class, people
from classroom.database import GONE, MIGRATIONS, NEWER, NOT_NAMED, Database, url_of
from classroom.errors import (
    BusyError,
    FullError,
    GoneError,
    NewerError,
    NoSuchClassError,
    SettingError,
    StoreError,
)  # fmt: skip
from classroom.expiry_thread import sweep_once
from classroom.members import NOT_LEFT, NOT_TAKEN_OUT, join, leave, take_out
from classroom.polls import ask, overview
from classroom.setting import FILE, SETTING, may_be_there
from classroom.tables import Base
from tests.classroom.kit import NOW, QUESTION, learners, new_class
from tests.postgresql import Server

ROOT = Path(__file__).parents[2]
Open = Callable[[str], Database]


def versions() -> list[str]:
    """The oldest first."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()][::-1]


# --- the setting -----------------------------------------------------------------------------------------------------


def test_without_a_setting_it_is_a_file_beside_the_app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert url_of("").database == str(FILE)
    monkeypatch.setenv(SETTING, f"sqlite:///{tmp_path}/a folder/ä?#%41.db")
    db = Database()
    new_class(db)
    db.close()
    assert (tmp_path / "a folder").is_dir()


@pytest.mark.parametrize(
    "setting",
    ["x", "sqlite://", "sqlite:///:memory:", "mysql://u:geheim@h/d", "file:///etc/passwd", "nothing+x://a:geheim@b/c"],
)
def test_a_setting_that_names_no_database_is_told_without_its_password(setting: str) -> None:
    with pytest.raises(SettingError, match=f"^{NOT_NAMED}$") as caught:
        Database(setting)
    assert "geheim" not in str(caught.value)


def test_only_whoever_runs_the_server_reads_the_file(tmp_path: Path) -> None:
    Database(f"sqlite:///{tmp_path}/classes.db").close()
    assert (tmp_path / "classes.db").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_the_app_and_its_lessons_do_without_sqlalchemy() -> None:
    code = "import sys, pages.course, classroom; print(sorted({'sqlalchemy', 'alembic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- migrations ------------------------------------------------------------------------------------------------------


def migrate_to(db: Database, version: str) -> None:
    """An empty store as an older version of the app made it."""
    from alembic import command

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with db.engine.execution_options(writing=True).begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(text(f"DROP TABLE {table.name}"))
        connection.execute(text("DROP TABLE alembic_version"))
        config.attributes["connection"] = connection
        command.upgrade(config, version)


@pytest.mark.parametrize("version", versions())
def test_every_version_is_brought_up_to_date_with_what_is_in_it(version: str, url: str, open_store: Open) -> None:
    old = open_store(url)
    migrate_to(old, version)
    with old.engine.execution_options(writing=True).begin() as connection:
        connection.execute(
            text(
                "INSERT INTO classes (id, code, secret_hash, title, opened, locked, place, moves) "
                "VALUES (7, 'CDFHJK', 'x', 'Old', 1, false, '{}', 0)"
            )
        )
    old.close()
    db = open_store(url)
    with db.reading() as session:
        assert session.execute(text("SELECT id, title FROM classes")).all() == [(7, "Old")]
        context = MigrationContext.configure(session.connection())
        assert compare_metadata(context, Base.metadata) == []
        assert context.get_current_revision() == versions()[-1]
    if url.startswith("sqlite"):
        assert people(db, learners_in_old(db), NOW)


def test_those_who_joined_before_there_were_numbers_get_theirs_in_order(url: str, open_store: Open) -> None:
    old = open_store(url)
    migrate_to(old, "3")
    with old.engine.execution_options(writing=True).begin() as connection:
        for class_id, code in ((7, "CDFHJK"), (8, "MNPRTW")):
            connection.execute(
                text(
                    "INSERT INTO classes (id, code, secret_hash, title, opened, locked, place, moves) "
                    f"VALUES ({class_id}, '{code}', 'x', '', {NOW}, false, '{{}}', 0)"
                )
            )
        for learner_id, class_id in ((3, 7), (5, 8), (8, 7), (13, 7)):
            connection.execute(
                text(
                    "INSERT INTO learners (id, class_id, token_hash, nickname, joined, seen, page, sentence) "
                    f"VALUES ({learner_id}, {class_id}, '{learner_id}', 'of {learner_id}', {NOW}, {NOW}, '', '')"
                )
            )
    old.close()
    db = open_store(url)
    if not url.startswith("sqlite"):  # a server counts on from what it gave itself
        with db.writing() as session:
            session.execute(text("SELECT setval(pg_get_serial_sequence('learners', 'id'), 20)"))
    join(db, "CDFHJK", "browser", "new", "school", NOW)
    for class_id, code, numbers in (
        (7, "CDFHJK", {"of 3": 1, "of 8": 2, "of 13": 3, "new": 4}),
        (8, "MNPRTW", {"of 5": 1}),
    ):
        everyone = people(db, Teacher(class_id, code, "", "x"), NOW)
        assert {one.nickname: one.number for one in everyone} == numbers


def learners_in_old(db: Database):  # type: ignore[no-untyped-def]
    join(db, "CDFHJK", "browser", "Ada", "school", NOW)
    return Teacher(7, "CDFHJK", "Old", "x")


def test_opening_once_more_changes_nothing(url: str, open_store: Open) -> None:
    teacher = new_class(open_store(url))
    assert overview(open_store(url), teacher).learners == 0


def test_a_newer_schema_is_refused_in_one_sentence(url: str, open_store: Open) -> None:
    db = open_store(url)
    with db.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '999'"))
    with pytest.raises(NewerError, match=f"^{NEWER}$"):
        open_store(url)


def test_a_schema_that_another_process_made_newer_is_told(url: str, open_store: Open) -> None:
    db = open_store(url)
    teacher = new_class(db)
    with db.writing() as session:
        session.execute(text("ALTER TABLE polls RENAME TO questions"))
    with pytest.raises(NewerError):
        overview(db, teacher)


def test_a_migration_that_breaks_off_changes_nothing(
    url: str, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = open_store(url)
    migrate_to(old, "1")
    old.close()
    with monkeypatch.context() as patch:

        def broken(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        patch.setattr("alembic.runtime.migration.HeadMaintainer.update_to_step", broken)
        with pytest.raises(KeyboardInterrupt):
            open_store(url)
    with open_store(url).reading() as session:
        assert session.execute(text("SELECT count(*) FROM tries")).scalar_one() == 0


# --- gone, full, locked, damaged -------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "classes.db"


def test_a_file_that_was_removed_takes_no_answers_into_nowhere(file: Path, open_store: Open) -> None:
    db = open_store(f"sqlite:///{file}")
    teacher = new_class(db)
    kept = file.rename(file.with_name("moved"))
    for do in (lambda: overview(db, teacher), lambda: ask(db, teacher, QUESTION), lambda: delete_class(db, teacher)):
        with pytest.raises(GoneError, match=f"^{GONE}$"):
            do()
    assert not file.exists()
    kept.rename(file)
    with pytest.raises(GoneError):  # once more: whoever had it open opens it anew
        overview(db, teacher)
    assert overview(db, teacher).learners == 0


def test_a_file_removed_in_the_middle_of_a_change_is_noticed(file: Path, open_store: Open) -> None:
    db = open_store(f"sqlite:///{file}")
    teacher = new_class(db)

    def change() -> None:
        with db.writing() as session:
            session.execute(text("UPDATE classes SET title = 'x'"))
            file.rename(file.with_name("moved"))

    with pytest.raises(GoneError):
        change()
    file.with_name("moved").rename(file)
    with pytest.raises(GoneError):
        overview(db, teacher)
    assert join(db, teacher.code, "browser", "", "school", NOW).title == "Physics"


def test_another_file_in_its_place_is_told(file: Path, open_store: Open) -> None:
    db = open_store(f"sqlite:///{file}")
    teacher = new_class(db)
    for each in file.parent.iterdir():
        each.unlink()
    file.write_bytes(b"not a database" * 1000)
    for _ in range(3):
        with pytest.raises(StoreError):
            overview(db, teacher)


@pytest.mark.parametrize("content", [b"not a database" * 1000, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_file_is_told_at_the_start(content: bytes, file: Path) -> None:
    file.write_bytes(content)
    with pytest.raises(GoneError):
        Database(f"sqlite:///{file}")
    assert file.read_bytes() == content


def test_a_place_where_no_file_can_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "classes.db", tmp_path, Path("/proc/classes.db")):
        with pytest.raises(GoneError, match=f"^{GONE}$"):
            Database(f"sqlite:///{path}")


def test_a_full_disk_is_told_and_nothing_is_lost(file: Path, open_store: Open) -> None:
    db = open_store(f"sqlite:///{file}")
    teacher = new_class(db)
    learners(db, teacher, 3)

    @event.listens_for(db.engine, "begin")
    def no_more_room(connection) -> None:  # type: ignore[no-untyped-def]
        connection.exec_driver_sql("PRAGMA max_page_count = 1")

    db.engine.dispose()
    more = (join(db, teacher.code, f"more {n}", "x" * 24, "school", NOW) for n in range(10_000))
    with pytest.raises(FullError, match=r"^The server's disk is full"):
        list(more)
    before = len(people(db, teacher, NOW))
    assert before >= 3
    event.remove(db.engine, "begin", no_more_room)
    db.engine.dispose()
    with sqlite3.connect(file) as direct:
        assert direct.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    direct.close()
    join(db, teacher.code, "after", "", "school", NOW)
    assert len(people(db, teacher, NOW)) == before + 1


@pytest.mark.parametrize("times", [1, 2])
def test_a_class_is_deleted_on_a_full_disk_or_says_that_it_is_not(times: int, file: Path, open_store: Open) -> None:
    db = open_store(f"sqlite:///{file}")
    teacher = new_class(db)
    member, other = learners(db, teacher, 2)
    left = times

    @event.listens_for(db.engine, "before_cursor_execute")
    def no_room(connection, cursor, statement, *_) -> None:  # type: ignore[no-untyped-def]
        nonlocal left
        if statement.startswith("DELETE") and left:  # the journal gives room once it is cleared, or it does not
            left -= 1
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL  # type: ignore[misc]
            raise error

    for do, says in (
        (lambda: leave(db, member), NOT_LEFT),
        (lambda: take_out(db, teacher, other.learner_id), NOT_TAKEN_OUT),
        (lambda: delete_class(db, teacher), NOT_DELETED),
    ):
        left = times
        with pytest.raises(FullError, match=f"^{says}$") if times == 2 else nullcontext():
            do()
    if times == 2:
        assert len(people(db, teacher, NOW)) == 2
    else:
        with pytest.raises(NoSuchClassError):
            people(db, teacher, NOW)


def test_a_server_that_is_gone_is_not_waited_for(server: Server, open_store: Open) -> None:
    """Neither for a new connection nor on an old one; libpq takes some in seconds, some in milliseconds."""
    with open_store(server.new_url()).engine.connect() as connection:
        asked = connection.connection.driver_connection.info.get_parameters()  # type: ignore[union-attr]
    waits = {name: int(asked[name]) for name in ("connect_timeout", "tcp_user_timeout", "keepalives_idle")}
    assert waits == {"connect_timeout": 5, "tcp_user_timeout": 5000, "keepalives_idle": 5}


def test_a_full_disk_under_postgresql_is_told(server: Server, open_store: Open) -> None:
    db = open_store(server.new_url())
    teacher = new_class(db)
    with db.writing() as session:
        session.execute(
            text(
                "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN "
                "RAISE 'could not extend file' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql"
            )
        )
        session.execute(text("CREATE TRIGGER full_disk BEFORE INSERT ON learners EXECUTE FUNCTION full_disk()"))
    with pytest.raises(FullError):
        learners(db, teacher, 1)
    assert overview(db, teacher).learners == 0


@pytest.mark.slow
def test_who_waits_too_long_for_others_is_told(url: str, open_store: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classroom.database.PATIENCE_SECONDS", 1)
    db, other = open_store(url), open_store(url)
    teacher = new_class(db)
    with other.writing() as session:
        session.execute(text("UPDATE classes SET title = 'held'"))
        with pytest.raises(BusyError, match=r"^Too many are writing"):
            join(db, teacher.code, "browser", "", "school", NOW)
        assert overview(db, teacher).learners == 0  # who reads waits for nobody
    assert join(db, teacher.code, "browser", "", "school", NOW).title == "held"


@contextmanager
def nobody() -> Iterator[None]:
    """Root may write everything, so it is another user for a moment."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_file_that_may_not_be_written_is_told(file: Path, open_store: Open) -> None:
    db = open_store(f"sqlite:///{file}")
    teacher = new_class(db)
    db.close()
    file.chmod(0o444)
    with nobody(), pytest.raises(GoneError, match=f"^{GONE}$"):
        Database(f"sqlite:///{file}")
    file.chmod(0o644)
    assert overview(open_store(f"sqlite:///{file}"), teacher).learners == 0


def test_what_is_deleted_is_in_no_file_any_more(file: Path, open_store: Open) -> None:
    db = open_store(f"sqlite:///{file}")
    teacher = new_class(db)
    join(db, teacher.code, "browser", "Rumpelstilzchen", "school", NOW)
    assert any(b"Rumpelstilzchen" in each.read_bytes() for each in file.parent.iterdir())
    delete_class(db, teacher)
    assert not any(b"Rumpelstilzchen" in each.read_bytes() for each in file.parent.iterdir())


def test_a_server_that_does_not_answer_is_told() -> None:
    with pytest.raises(GoneError, match=f"^{GONE}$"):
        Database("postgresql://tester:geheim@127.0.0.1:1/nothing")


def test_the_keeper_deletes_what_is_too_old_and_minds_no_store_that_is_gone(
    file: Path, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTING, f"sqlite:///{file}")
    assert may_be_there()
    db = open_store(f"sqlite:///{file}")
    old, new = new_class(db, now=1), open_class(db, "", "here")[0]
    with db.writing() as session:
        session.execute(text("UPDATE classes SET due_since = 1 WHERE opened = 1"))
    sweep_once()
    assert overview(db, new).learners == 0
    with pytest.raises(NoSuchClassError):
        overview(db, old)
    monkeypatch.setenv(SETTING, "postgresql://tester@127.0.0.1:1/nothing")
    sweep_once()


def test_without_a_store_there_is_nothing_to_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setattr("classroom.setting.FILE", tmp_path / "classes.db")
    assert not may_be_there()
    (tmp_path / "classes.db").touch()
    assert may_be_there()
