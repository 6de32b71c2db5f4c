"""The oracle's search takes each next row from those before it: it is the row that a pass over the whole text has."""

from typing import Any

import numpy as np
import pytest

from tests.oracle.passes.decode import Writer, greedy
from tests.oracle.passes.forward import SOS, Forward, source_ids

TEXT = "My neighbour's cat doesn't like the rain."


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"positions_off": True},
        {"scale_off": True},
        {"causal_mask_off": True},
        {"blocked": (1,)},
        {"memory_after": 1},
        {"heads_off": (("decoder.layers.0.self_attn", 2),)},
        {"blocks_off": ("decoder.layers.1.cross_attn",)},
    ],
    ids=str,
)
def test_a_row_by_itself_is_the_last_row_of_the_whole(changes: dict[str, Any]) -> None:
    writer = Writer(TEXT, **changes)
    ids = list(greedy(writer, most=8))
    for n in range(1, len(ids) + 1):
        whole = Forward(source_ids(TEXT), ids[:n], **changes)
        assert np.allclose(writer.passes.next_logits([SOS, *ids[: n - 1]]), whole.logits[-1], rtol=0, atol=1e-9)
