"""What the lessons on the inputs share: what goes into the decoder."""

from tests.oracle.language.claims import caption, cards
from tests.oracle.language.common import Statements
from tests.oracle.language.page import READABLE, Page


def shifted(page: Page) -> Statements:
    """The decoder's inputs, each with the piece written there: `<sos>` first, then what was written."""
    written = [piece.text for piece in page.labels]
    read = ["<sos>", *written[:-1]]
    yield cards(
        [
            (one, [f"→ {next_}"], n, n == 0)
            for n, (one, next_) in enumerate(list(zip(read, written, strict=True))[:READABLE])
        ],
        title="What the decoder reads, and what it writes next",
        how_to_read="Each card: a piece that goes in; after the arrow, the piece written there. <sos> stands first.",
    )
    if len(read) > READABLE:
        yield caption(f"Shown: the first {READABLE} of {len(read)} pieces.")
    yield caption(
        "The decoder reads what it has written so far. So what goes in is the translation, one place later: <sos> is "
        "put in front, and the last piece written is not read any more."
    )
