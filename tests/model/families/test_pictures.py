"""Readers of pictures: patches and windows; the Vision Transformer, and blocks of Swin, against the library's."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import SwinConfig as TheirSwinConfig
from transformers import ViTConfig, ViTForImageClassification
from transformers.models.swin.modeling_swin import SwinLayer

from hub.export.vit import their_config, their_weights
from model.anatomy.describe import anatomy_of
from model.build_beyond_text import build_swin, build_vision
from model.families.pictures import (
    ConvolutionalNetwork,
    PictureConfig,
    Swin,
    SwinConfig,
    VisionTransformer,
    cut_into_patches,
)
from model.parts.window_attention import into_windows, neighbours, out_of_windows
from model.tap import Recorder


@given(*[st.integers(1, 4)] * 2, *[st.integers(1, 5)] * 2)
def test_patches_hold_every_pixel_once_row_by_row(high: int, wide: int, down: int, right: int) -> None:
    pictures = torch.arange(2.0 * high * wide * down * right).reshape(2, high * down, wide * right)
    patches = cut_into_patches(pictures, high, wide)
    assert patches.shape == (2, down * right, high * wide)
    for row in range(down):
        for column in range(right):
            inside = pictures[:, row * high : (row + 1) * high, column * wide : (column + 1) * wide]
            assert torch.equal(patches[:, row * right + column], inside.flatten(1))


def test_a_picture_that_patches_do_not_fill_is_named() -> None:
    with pytest.raises(ValueError, match="28 pixels to a side has no whole number of patches of 5"):
        PictureConfig(patch=5)


def the_librarys(model: VisionTransformer, config: PictureConfig) -> ViTForImageClassification:
    """The library's model with the same weights, as they are exported."""
    made = ViTForImageClassification(ViTConfig(**their_config(config), attn_implementation="eager"))
    made.load_state_dict(their_weights(model.state_dict(), config))
    return made.eval()


def test_with_equal_weights_it_says_what_the_librarys_says() -> None:
    torch.manual_seed(0)
    config = PictureConfig(d_model=16, n_heads=2, n_layers=2, d_ff=24)
    model = build_vision(config).eval()
    for parameter in model.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    pictures, recorder = torch.rand(3, config.size, config.size), Recorder()
    with torch.no_grad():
        logits = model(pictures, recorder)
        theirs = the_librarys(model, config)(pictures[:, None], output_attentions=True)
    assert torch.allclose(logits, theirs.logits, atol=1e-5)
    for n, weights in enumerate(theirs.attentions):
        assert torch.allclose(recorder.tensors[f"encoder.layers.{n}.self_attn.weights"], weights, atol=1e-6)


def read_by(model: VisionTransformer | Swin, size: int) -> dict[str, torch.Tensor]:
    recorder = Recorder()
    with torch.no_grad():
        model(torch.rand(2, size, size), recorder)
    return recorder.tensors


SIZES = {"src": 10, "patch": 9, "pixel": 4, "row": 6, "column": 6, "classes": 7, "one": 1, "head": 2, "d_k": 5}
SIZES |= {"d_model": 10, "d_ff": 11, "place": 9}
SMALL = {"patch": 2, "n_classes": 7, "d_model": 10, "n_heads": 2, "n_layers": 2, "d_ff": 11}


@pytest.mark.parametrize("kind", ["ViT", "Swin"])
def test_its_description_names_every_value_and_what_it_was_made_of(kind: str) -> None:
    if kind == "ViT":
        model, sizes = build_vision(PictureConfig(size=6, **SMALL)), SIZES
    else:  # four windows of nine patches
        model, sizes = build_swin(SwinConfig(size=12, window=3, shift=1, **SMALL)), SIZES | {"src": 36, "row": 12}
        sizes |= {"column": 12}
    tensors, anatomy = read_by(model, sizes["row"]), anatomy_of(model)
    assert tensors.keys() == anatomy.tensors.keys()
    for name, made in anatomy.tensors.items():
        shape = [n for n in tensors[name].shape[tensors[name].dim() > len(made.axes) :] if n > 1]
        assert shape == [sizes[axis] for axis in made.axes if sizes[axis] > 1], name
        assert {*made.reads} <= anatomy.tensors.keys()
        assert {*made.weights} <= {key for key, _ in model.named_parameters()}
    used = {weight for made in anatomy.tensors.values() for weight in made.weights}
    assert used == {key for key, _ in model.named_parameters()}
    assert [attention.n_heads for attention in anatomy.attentions["encoder"]] == [2, 2]
    assert anatomy.stack("encoder").tokens == "src"


def test_the_readers_are_about_equally_large() -> None:
    models = (build_vision(PictureConfig()), ConvolutionalNetwork(), build_swin(SwinConfig()))
    large = [sum(p.numel() for p in model.parameters()) for model in models]
    assert max(large) / min(large) < 1.01


WINDOWS = st.tuples(st.integers(1, 3), st.integers(1, 4)).flatmap(
    lambda sizes: st.tuples(st.just(sizes[0] * sizes[1]), st.just(sizes[1]), st.integers(0, sizes[1] - 1))
)


@given(WINDOWS)
def test_windows_hold_every_patch_once_and_go_back_to_their_places(cut: tuple[int, int, int]) -> None:
    side, window, shift = cut
    rows = torch.arange(2.0 * side**2 * 3).reshape(2, side**2, 3)
    parted = into_windows(rows, *cut)
    assert torch.equal(out_of_windows(parted, *cut), rows)
    for at in range(side**2):  # by hand: which window, and which place within it
        of, place = divmod(at, window**2)
        row, column = (
            (window * a + b + shift) % side
            for a, b in zip(divmod(of, side // window), divmod(place, window), strict=True)
        )
        assert torch.equal(parted[:, at], rows[:, row * side + column])


def test_patches_that_only_the_roll_has_put_side_by_side_may_not_look_at_each_other() -> None:
    side, window, shift = 6, 3, 1
    patches = into_windows(torch.arange(36.0).reshape(1, 36, 1), side, window, shift).int().reshape(4, 9).tolist()
    seen = neighbours(side, window, shift)
    for n, of_window in enumerate(patches):
        for i, one in enumerate(of_window):
            for j, other in enumerate(of_window):
                apart = [abs(a - b) for a, b in zip(divmod(one, side), divmod(other, side), strict=True)]
                assert seen[n, i, j] == (max(apart) < window), (one, other)
    assert neighbours(side, window, 0).all()


@pytest.mark.parametrize("shift", [0, 2])
def test_with_equal_weights_a_block_of_swin_says_what_the_librarys_says(shift: int) -> None:
    torch.manual_seed(0)
    sizes = {"d_model": 16, "n_heads": 2, "n_layers": 2, "d_ff": 24}
    model = build_swin(SwinConfig(size=12, patch=1, window=4, shift=shift, **sizes)).eval()
    layer = model.encoder.layers[1]
    for parameter in layer.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    config = TheirSwinConfig(window_size=4, mlp_ratio=1.5, qkv_bias=False, layer_norm_eps=1e-5)
    config._attn_implementation = "eager"
    theirs = SwinLayer(config, 16, (12, 12), 2, shift_size=shift).eval()
    names = {f"attention.{their}_proj": f"self_attn.w_{their}" for their in "qkvo"} | {
        "attention.relative_position_bias.relative_position_bias_table": "self_attn.positions.table.weight",
        "layernorm_before": "add_norm_1.norm",
        "layernorm_after": "add_norm_2.norm",
        "mlp.fc1": "feed_forward.w_1",
        "mlp.fc2": "feed_forward.w_2",
    }
    ours, weights = dict(layer.named_parameters()), {}
    for name, weight in theirs.state_dict().items():
        their = next(their for their in names if name.startswith(their))
        weights[name] = ours.get(names[their] + name.removeprefix(their), torch.zeros_like(weight))
    theirs.load_state_dict(weights)
    x, recorder = torch.randn(3, 144, 16), Recorder()
    with torch.no_grad():
        out = layer(x, torch.ones(1, 1, 1, 1, dtype=torch.bool), tap=recorder)
        expected, attention = theirs(x, (12, 12))
    assert torch.allclose(out, expected, atol=1e-5)
    found = recorder.tensors["self_attn.weights"].unflatten(2, (-1, 16)).transpose(1, 2).flatten(0, 1)
    assert torch.allclose(found, attention, atol=1e-6)


def test_windows_that_do_not_fill_the_picture_are_named() -> None:
    with pytest.raises(ValueError, match="windows of 5 patches, shifted by 3, do not fill a picture of 14"):
        SwinConfig(window=5)
    with pytest.raises(ValueError, match="windows of 7 patches, shifted by 7,"):
        SwinConfig(shift=7)
