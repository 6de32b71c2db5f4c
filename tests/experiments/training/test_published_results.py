"""The facts of assets/results: each with its source; the figures themselves are typed once more in the oracle."""

import json
from pathlib import Path

import pytest

from experiments.training.published_results import FOLDER, load_table
from tests.course import LESSONS

TABLES = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "sources")


def test_the_tables_are_those_of_the_page() -> None:
    assert TABLES == ["glue", "rotary", "sizes", "squad", "translation"]


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_a_source_that_one_can_open(name: str) -> None:
    for row in load_table(name).rows:
        assert row.source.url.startswith(("https://arxiv.org/abs/", "https://cdn.openai.com/")), row.name
        assert row.source.place.startswith(("Table ", "§", "abstract")), row.name
        assert row.source.paper[-4:].isdigit(), row.name


def test_no_source_is_left_over() -> None:
    known = json.loads((FOLDER / "sources.json").read_text(encoding="utf-8"))
    used = {
        row["source"] for name in TABLES for row in json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["rows"]
    }
    assert used == set(known)


def test_the_averages_of_glue_are_those_of_its_columns() -> None:
    for row in load_table("glue").rows:
        *scores, average = (float(value or 0) for value in row.values)
        assert average == pytest.approx(sum(scores) / 9, abs=0.1), row.name


def test_the_price_of_the_transformers_is_hours_times_gpus_times_speed() -> None:
    """Vaswani et al. 2017, §5.2: 12 hours, 3.5 days, on 8 P100; §6.1: 9.5 TFLOPS each."""
    prices = {row.name: row.values[2] for row in load_table("translation").rows}
    assert prices["Transformer (base)"] == pytest.approx(12 * 3600 * 8 * 9.5e12, rel=0.02)
    assert prices["Transformer (big)"] == pytest.approx(3.5 * 86400 * 8 * 9.5e12, rel=0.02)


def test_points_of_the_timeline_open_lessons_that_exist() -> None:
    rows = load_table("sizes").rows
    slugs = {lesson.slug for lesson in LESSONS}
    assert {row.lesson for row in rows if row.lesson} <= slugs
    assert all(bool(row.lesson) == bool(row.part) for row in rows)
    dates = [str(row.values[0]) for row in rows]
    assert dates == sorted(dates)


def test_a_row_of_another_length_is_named(tmp_path: Path) -> None:
    (tmp_path / "sources.json").write_text('{"a": {"paper": "A 2000", "url": "https://a"}}')
    column = {"name": "one", "best": "high", "form": "plain"}
    row = {"name": "odd", "values": [1, 2], "source": "a", "where": "Table 1"}
    (tmp_path / "t.json").write_text(json.dumps({"columns": [column], "rows": [row]}))
    with pytest.raises(ValueError, match="odd has 2 values for 1 columns"):
        load_table("t", tmp_path)
