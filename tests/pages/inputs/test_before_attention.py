"""The first lesson opens where the first piece has nearly gone, and measures times when it is asked to."""

import time

from pages.inputs.before_attention import scene
from tests.pages.kit import assert_sound, opened, size, table
from ui import engine


def test_times_are_measured_for_every_length_and_reader() -> None:
    app, end = opened("before-attention"), time.monotonic() + 300
    next(button for button in app.button if button.label == "Measure the time").click().run()
    while not any("compiled" in e.proto.body for e in app.get("html")) and time.monotonic() < end:
        time.sleep(0.2)
        app.run()
    assert_sound(app)
    lengths, *milliseconds = zip(*(map(size, row) for row in table(app, "pieces", "RNN", "LSTM")), strict=True)
    assert lengths == tuple(2**n for n in range(3, 12))
    assert len(milliseconds) == 4
    assert min(map(min, milliseconds)) > 0
    for times in milliseconds[:2]:  # an RNN and an LSTM take 256 times as many steps for 2048 pieces as for 8
        assert times[-1] > 5 * times[0]


def test_it_opens_where_the_first_piece_hardly_moves_the_end() -> None:
    for sentence in ("I ate an apple", "The old man looks at the sea."):
        shown = scene(engine.trace(sentence))
        first = [float(frame.panels[0][0].widths[0, -1]) for frame in shown.frames]  # type: ignore[union-attr]
        assert first[shown.start] == min(first) < 0.05
        assert max(first[1:3]) > 0.5  # self-attention, as untrained
