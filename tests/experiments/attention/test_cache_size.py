"""What is kept of a piece, measured on caches, against what is counted from sizes."""

from dataclasses import replace

import pytest

from experiments.attention.cache_size import kept_by, of_kinds
from model.build import build_model
from model.config import PRESETS
from model.files.loaded_model import TRANSLATOR, load_model


@pytest.mark.parametrize(
    ("kind", "attention"),
    [("MHA", "multi_head"), ("GQA", "grouped_query"), ("MQA", "multi_query"), ("MLA", "latent")],
)
def test_a_cache_holds_what_is_counted(kind: str, attention: str) -> None:
    config = replace(PRESETS["tiny"], n_heads=4, n_layers=3, attention=attention, d_latent=4 * 8)
    loaded = replace(load_model(TRANSLATOR), config=config, model=build_model(config).eval())
    counted = {one.kind: one.n_bytes for one in of_kinds(3, 4, 8, 4)}
    assert kept_by(loaded) == counted[kind]
