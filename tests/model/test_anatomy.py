"""The anatomy of the translator's family, by hand; and by running the model: what a tap is said to read, it reads."""

import inspect
import itertools

import pytest
import torch
from torch import Tensor, nn

from model.anatomy.describe import Scribe, anatomy_of, describe
from model.anatomy.structure import Anatomy, Attention
from model.build_beyond_text import build_sound, build_strips, build_swin, build_towers
from model.families.copying import KINDS, load_copier
from model.families.encoder_decoder import EncoderDecoder
from model.families.pictures import SwinConfig
from model.families.readers import load_readers
from model.families.sounds import SoundConfig
from model.families.two_towers import TowersConfig
from model.files.load_pictures import load_vision
from model.files.load_special_models import loaded_in_context
from model.parts.attention import MultiHeadAttention
from model.parts.feed_forward import FeedForward
from model.parts.layers import EncoderLayer
from model.parts.norms import LayerNorm
from model.parts.residual import DescribedSubLayer, PostNorm
from model.tap import Recorder
from tests.family import FAMILY, small
from tests.small import CONFIG, SOURCE, TARGET, random_model
from tests.variants import BLOCK, D_LATENT, D_ROTARY, N_EXPERTS, N_SQUEEZED, REACH, VARIANTS

pytestmark = pytest.mark.usefixtures("without_gradients")


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


def test_what_is_not_there_is_an_error(anatomy: Anatomy) -> None:
    for look_up in (
        lambda: anatomy.stack("text"),
        lambda: anatomy.layer("text", 0),
        lambda: anatomy.sublayer("encoder", 0, "cross_attn"),
        lambda: anatomy.attention("text", 0),
        lambda: anatomy.attention_at("encoder.layers.0.cross_attn"),
    ):
        with pytest.raises(KeyError):
            look_up()
    for look_up in (lambda: anatomy.layer("encoder", 2), lambda: anatomy.attention("cross", 2)):
        with pytest.raises(IndexError):
            look_up()


SIZES = {
    "head": CONFIG.n_heads,
    "src": SOURCE,
    "tgt": TARGET,
    "labels": TARGET,
    "d_model": CONFIG.d_model,
    "d_k": CONFIG.d_k,
    "d_ff": CONFIG.d_ff,
    "vocab": CONFIG.vocab_size,
    "window": 2 * REACH + 1,
    "src_squeezed": -(-SOURCE // BLOCK) * N_SQUEEZED,
    "tgt_finished_squeezed": TARGET // BLOCK * N_SQUEEZED,
    "tgt_squeezed_and_own": TARGET // BLOCK * N_SQUEEZED + TARGET,
    "group": 1,
    "experts": N_EXPERTS,
    "d_latent": D_LATENT,
    "d_r": D_ROTARY,
    "d_both": CONFIG.d_k + D_ROTARY,
    "one": 1,
}


def recorded(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> dict[str, Tensor]:
    recorder = Recorder()
    model(src_ids[:1], tgt_ids[:1], recorder)
    return recorder.tensors


def test_every_tap_is_known_and_its_axes_have_the_right_sizes(
    any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor
) -> None:
    anatomy = anatomy_of(any_model)
    tensors = recorded(any_model, src_ids, tgt_ids)
    assert tensors.keys() == anatomy.tensors.keys()
    for name, tensor in tensors.items():
        shape = tensor.shape if name.endswith(".positions") else tensor.shape[1:]
        assert tuple(shape) == tuple(SIZES[axis] for axis in anatomy.axes(name)), name


def test_a_value_is_made_of_what_it_is_said_to_read_and_of_nothing_else(
    any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor
) -> None:
    """Change any one value: of those made in one step from others, just those that read it are made anew.

    All others that change do so because something that they read has changed.
    """
    anatomy = anatomy_of(any_model)
    plain = recorded(any_model, src_ids, tgt_ids)
    masks = {name for name, made in anatomy.tensors.items() if made.operation.endswith("mask")}
    for changed in plain.keys() - masks - {name for name in plain if name.endswith(("scores", "weights"))}:

        def shift(name: str, value: Tensor, changed: str = changed) -> Tensor:
            return value + torch.linspace(1, 2, value.size(-1)) if name == changed else value

        recorder = Recorder(shift)
        any_model(src_ids[:1], tgt_ids[:1], recorder)
        moved = {name for name, value in recorder.tensors.items() if not torch.equal(value, plain[name])}
        for name in moved - {changed}:
            assert set(anatomy.tensors[name].reads) & moved, f"{name} changes with {changed} alone"
        for name, made in anatomy.tensors.items():
            if changed in made.reads and made.operation not in ("divide_by_sqrt_d_k", "relu", "ask_expert"):
                assert name in moved, f"{name} is said to read {changed}"


def test_every_weight_is_used_where_it_is_said_to_be(
    any_model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor
) -> None:
    anatomy = anatomy_of(any_model)
    used = set(itertools.chain.from_iterable(made.weights for made in anatomy.tensors.values()))
    assert used == dict(any_model.named_parameters()).keys()
    plain = recorded(any_model, src_ids, tgt_ids)
    gates = {name.removesuffix("gates"): value for name, value in plain.items() if name.endswith(".gates")}
    idle = tuple(
        f"{path}experts.{n}." for path, one in gates.items() for n in range(N_EXPERTS) if not one[..., n].any()
    )
    assert len(idle) < max(1, len(gates))
    for parameter in sorted(used - {"embedding.matrix.weight"}):
        if parameter.startswith(idle):
            continue  # an expert that no row asks
        users = [name for name, made in anatomy.tensors.items() if parameter in made.weights]
        assert len(users) == (2 if parameter.startswith("embedding.") else 1)  # both stacks have the same embedding
        with torch.no_grad():
            weight = any_model.get_parameter(parameter)
            weight += 0.5
            first = next(
                name for name, v in recorded(any_model, src_ids, tgt_ids).items() if not torch.equal(v, plain[name])
            )
            weight -= 0.5
        plain = recorded(any_model, src_ids, tgt_ids)  # there and back rounds a little
        assert first in users


def layer_normed(residual: nn.Module) -> EncoderLayer:
    attention, network = MultiHeadAttention(42, 3), FeedForward(42, 53)
    return EncoderLayer(attention, residual, network, PostNorm(LayerNorm(42)))


@pytest.mark.parametrize("causal", [False, True])
def test_the_mask_and_not_the_stacks_name_makes_an_attention_a_decoders(causal: bool) -> None:
    scribe = Scribe("text.layers.0", tokens="src", stack="text")
    mask = scribe.made("mask", "causal_mask" if causal else "pad_mask", axes=("one", "one", "src"))
    describe(layer_normed(PostNorm(LayerNorm(42))), scribe, "x", mask)
    kind = "decoder" if causal else "encoder"
    assert scribe.attentions == {kind: [Attention(kind, 0, "text.layers.0.self_attn", 3, 14, "src", "src", causal)]}


def test_every_kind_of_module_that_is_described_is_part_of_a_model_that_tests_try() -> None:
    tried = {type(part) for make in VARIANTS.values() for part in make().modules()}
    tried |= {type(part) for part in load_readers().model.modules()}
    tried |= {type(part) for part in loaded_in_context().model.modules()}
    tried |= {type(part) for kind in KINDS for part in load_copier(kind).model.modules()}
    tried |= {type(part) for name in FAMILY for part in small(name).model.modules()}
    tried |= {type(part) for part in small("bert-mini", family="discriminator").model.modules()}
    beyond_text = (
        load_vision().model,
        build_swin(SwinConfig()),
        build_sound(SoundConfig()),
        build_strips(SoundConfig()),
        build_towers(TowersConfig()),
    )
    tried |= {type(part) for reader in beyond_text for part in reader.modules()}
    ours = {kind for kind in describe.registry if kind.__module__.startswith(("model.", "torch."))}
    assert ours - tried == set(), "add a model that has it to tests/variants.py"


def test_descriptions_have_one_signature() -> None:
    """A module, a scribe, and names, or a residual's function of names, in; a name out."""
    for describes in set(describe.registry.values()) - {describe.registry[object]}:
        _, scribe, *inputs = inspect.signature(describes).parameters.values()
        assert scribe.annotation is Scribe
        assert {i.annotation for i in inputs} <= {str, DescribedSubLayer}
        assert inspect.signature(describes).return_annotation is str


def test_a_module_that_nobody_described_is_named() -> None:
    with pytest.raises(TypeError, match=r"^nobody has described Bilinear; register a function"):
        describe(torch.nn.Bilinear(2, 3, 5), Scribe())
