"""What the lesson on sums shows by default."""

from pages.descendants.rule_or_by_heart import answers, scene
from ui import engine


def test_it_opens_with_a_sum_that_the_last_model_has_right_and_the_first_has_wrong() -> None:
    shown = scene(engine.trace("I ate an apple"))
    assert shown.frames[shown.start].stop == "20,000"
    assert [found.is_right for found in answers(367, 285).values()][::3] == [False, True]
    assert not any(found.is_right for found in answers(1367, 1285).values())
    cards = [[row.cards for row in frame.panels[0][1].rows] for frame in shown.frames]  # type: ignore[union-attr]
    assert [card.text for card in cards[-1][0]] == ["6", "5", "2"]
    assert all(any(card.state == "unseen" for card in further) for _, further in cards)
