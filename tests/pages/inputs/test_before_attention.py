"""The first lesson measures times when it is asked to."""

import time

from tests.pages.kit import assert_sound, opened, size, table


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
