"""Rows run by themselves: the feed-forward network does not notice, attention does."""

import pytest
import torch

from experiments.blocks.position_wise import each_row_alone
from model.families.encoder_decoder import EncoderDecoder
from model.interventions import Block
from model.tap import Recorder
from model.text.tokenizer import Tokenizer
from tests.small import random_ids, small_loaded


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_only_the_network_writes_the_same_for_a_row_alone(
    stack: str, model: EncoderDecoder, tokenizer: Tokenizer
) -> None:
    loaded, recorder = small_loaded(model, tokenizer), Recorder()
    with torch.no_grad():
        model(random_ids(1, 7), random_ids(1, 5), recorder)
    path = f"{stack}.layers.1"
    found = {name: value[0].numpy() for name, value in recorder.tensors.items()}
    last = 1 if stack == "encoder" else 2
    network = each_row_alone(loaded, Block(stack, 1, "feed_forward"), found[f"{path}.add_norm_{last}.output"])
    assert network == pytest.approx(found[f"{path}.feed_forward.output"], abs=1e-5)
    stream = found[f"{stack}.layers.0.add_norm_{last + 1}.output"]
    attention = each_row_alone(loaded, Block(stack, 1, "self_attn"), stream)
    layer = getattr(model, stack).layers[1].self_attn
    for row, written in zip(stream, attention, strict=True):
        alone = torch.tensor(row)[None, None]
        assert written == pytest.approx(layer(alone, alone)[0, 0].detach().numpy(), abs=1e-5)
    assert abs(attention - found[f"{path}.self_attn.output"])[1:].max() > 0.01
