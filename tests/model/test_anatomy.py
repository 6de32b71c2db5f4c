"""The anatomy of the translator's family, by hand; and by running the model: what a tap is said to read, it reads."""

import itertools

import pytest
import torch
from torch import Tensor

from model.anatomy import Anatomy, Attention
from model.describe import anatomy_of, describe
from model.families.encoder_decoder import EncoderDecoder
from model.tap import Recorder
from tests.small import CONFIG, SOURCE, TARGET, random_model


@pytest.fixture(scope="module")
def anatomy() -> Anatomy:
    return anatomy_of(random_model())


def test_every_attention_by_hand(anatomy: Anatomy) -> None:
    """3 heads of width 14. A row of cross-attention is about the token that it is going to write."""
    assert anatomy.attentions.keys() == {"encoder", "decoder", "cross"}
    for n in range(2):
        for expected in (
            Attention("encoder", n, f"encoder.layers.{n}.self_attn", 3, 14, "src", "src", False),
            Attention("decoder", n, f"decoder.layers.{n}.self_attn", 3, 14, "tgt", "tgt", True),
            Attention("cross", n, f"decoder.layers.{n}.cross_attn", 3, 14, "labels", "src", False),
        ):
            assert anatomy.attention(expected.kind, n) == expected
            assert anatomy.attention_at(expected.path) == expected
    assert [len(layers) for layers in anatomy.attentions.values()] == [2, 2, 2]
    assert anatomy.reads_source


def test_every_sublayer_by_hand(anatomy: Anatomy) -> None:
    """Vaswani et al. 2017, Figure 1: what each sub-layer reads runs past it too, and the norm comes after."""
    assert [(stack.name, stack.tokens) for stack in anatomy.stacks] == [("encoder", "src"), ("decoder", "tgt")]
    for stack, names in (
        ("encoder", ("self_attn", "feed_forward")),
        ("decoder", ("self_attn", "cross_attn", "feed_forward")),
    ):
        stream = f"{stack}.embedding.output"
        assert anatomy.stack(stack).embedding_writes == stream
        for n in range(2):
            layer = anatomy.layer(stack, n)
            assert (layer.path, layer.reads) == (f"{stack}.layers.{n}", stream)
            assert tuple(one.name for one in layer.sublayers) == names
            for number, name in enumerate(names, 1):
                one = anatomy.sublayer(stack, n, name)
                assert (one.path, one.place) == (f"{stack}.layers.{n}.{name}", (stack, n, name))
                assert one.kind == ("feed_forward" if name == "feed_forward" else "attention")
                assert one.n_units == (53 if name == "feed_forward" else 0)
                assert (one.reads, one.stream, one.norm) == (stream, stream, "after")
                assert (one.writes, one.residual) == (f"{one.path}.output", f"add_norm_{number}")
                assert one.result == (stream := f"{stack}.layers.{n}.add_norm_{number}.output")
            assert layer.writes == stream
        assert anatomy.stack(stack).writes == stream


SIZES = {
    "head": CONFIG.n_heads,
    "src": SOURCE,
    "tgt": TARGET,
    "labels": TARGET,
    "d_model": CONFIG.d_model,
    "d_k": CONFIG.d_k,
    "d_ff": CONFIG.d_ff,
    "vocab": CONFIG.vocab_size,
    "one": 1,
}


def recorded(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> dict[str, Tensor]:
    recorder = Recorder()
    model(src_ids[:1], tgt_ids[:1], recorder)
    return recorder.tensors


def test_every_tap_is_known_and_its_axes_have_the_right_sizes(
    anatomy: Anatomy, model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor
) -> None:
    tensors = recorded(model, src_ids, tgt_ids)
    assert tensors.keys() == anatomy.tensors.keys()
    for name, tensor in tensors.items():
        shape = tensor.shape if name.endswith("positions") else tensor.shape[1:]
        assert tuple(shape) == tuple(SIZES[axis] for axis in anatomy.axes(name)), name


def test_a_value_is_made_of_what_it_is_said_to_read_and_of_nothing_else(
    anatomy: Anatomy, model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor
) -> None:
    """Change any one value: of those made in one step from others, just those that read it are made anew.

    All others that change do so because something that they read has changed.
    """
    plain = recorded(model, src_ids, tgt_ids)
    masks = {name for name, made in anatomy.tensors.items() if made.operation.endswith("mask")}
    for changed in plain.keys() - masks - {name for name in plain if name.endswith(("scores", "weights"))}:

        def shift(name: str, value: Tensor, changed: str = changed) -> Tensor:
            return value + torch.linspace(1, 2, value.size(-1)) if name == changed else value

        recorder = Recorder(shift)
        model(src_ids[:1], tgt_ids[:1], recorder)
        moved = {name for name, value in recorder.tensors.items() if not torch.equal(value, plain[name])}
        for name in moved - {changed}:
            assert set(anatomy.tensors[name].reads) & moved, f"{name} changes with {changed} alone"
        for name, made in anatomy.tensors.items():
            if changed in made.reads and made.operation not in ("divide_by_sqrt_d_k", "relu"):
                assert name in moved, f"{name} is said to read {changed}"


def test_every_weight_is_used_where_it_is_said_to_be(
    anatomy: Anatomy, model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor
) -> None:
    used = set(itertools.chain.from_iterable(made.weights for made in anatomy.tensors.values()))
    assert used == dict(model.named_parameters()).keys()
    plain = recorded(model, src_ids, tgt_ids)
    for parameter in sorted(used - {"embedding.matrix.weight"}):
        (user,) = (name for name, made in anatomy.tensors.items() if parameter in made.weights)
        with torch.no_grad():
            weight = model.get_parameter(parameter)
            weight += 0.5
            first = next(
                name for name, v in recorded(model, src_ids, tgt_ids).items() if not torch.equal(v, plain[name])
            )
            weight -= 0.5
        plain = recorded(model, src_ids, tgt_ids)  # there and back rounds a little
        assert first == user


def test_a_module_that_nobody_described_is_named() -> None:
    with pytest.raises(TypeError, match=r"^nobody has described Bilinear; register a function"):
        describe(torch.nn.Bilinear(2, 3, 5), None)
