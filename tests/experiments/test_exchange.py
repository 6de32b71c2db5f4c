"""A trained model with a part exchanged: the part does its work, and nothing else has changed."""

import pytest
import torch

from experiments.exchange import Exchange, exchanged, exchanged_encoding, exchanged_pass
from ui import engine

PATH = "encoder.layers.1"
TRACE = engine.trace("My dog likes the rain.")


def run(part: str, name: str, kind: str) -> tuple:
    return exchanged_pass(TRACE.model, (Exchange(part, f"{PATH}.{name}", kind),), TRACE.src_ids, TRACE.tgt_ids)


def test_the_model_itself_stays_as_it_is_and_shares_its_weights() -> None:
    before = {name: w.clone() for name, w in TRACE.model.model.state_dict().items()}
    other, _ = run("positions", "self_attn", "alibi")
    run("network", "feed_forward", "swiglu")
    run("add_norm", "add_norm_2", "rms sandwich")
    after = TRACE.model.model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(w, after[name]) for name, w in before.items())
    own = {w.data_ptr() for w in TRACE.model.model.parameters()}
    assert {w.data_ptr() for w in other.model.parameters()} == own
    assert other.name != TRACE.model.name


def test_the_encoder_alone_computes_what_it_computes_before_a_decoder() -> None:
    exchange = Exchange("attention", f"{PATH}.self_attn", "linear")
    _, alone = exchanged_encoding(TRACE.model, (exchange,), TRACE.src_ids)
    _, both = exchanged_pass(TRACE.model, (exchange,), TRACE.src_ids, TRACE.tgt_ids)
    assert alone.keys() == {name for name in both if name.startswith("encoder.")}
    assert all((value == both[name]).all() for name, value in alone.items())


def test_a_kind_that_there_is_not_is_refused() -> None:
    with pytest.raises(KeyError):
        exchanged(TRACE.model, (Exchange("network", f"{PATH}.feed_forward", "maxout"),))
