"""Readers of pictures: patches, and the Vision Transformer against the one of the library `transformers`."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import ViTConfig, ViTForImageClassification

from hub.export.vit import their_config, their_weights
from model.anatomy.describe import anatomy_of
from model.build import build_vision
from model.families.pictures import ConvolutionalNetwork, PictureConfig, VisionTransformer, cut_into_patches
from model.tap import Recorder


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5))
def test_patches_hold_every_pixel_once_row_by_row(patch: int, down: int, right: int) -> None:
    pictures = torch.arange(2.0 * patch * down * patch * right).reshape(2, patch * down, patch * right)
    patches = cut_into_patches(pictures, patch)
    assert patches.shape == (2, down * right, patch * patch)
    for row in range(down):
        for column in range(right):
            inside = pictures[:, row * patch : (row + 1) * patch, column * patch : (column + 1) * patch]
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


def test_its_description_names_every_value_and_what_it_was_made_of() -> None:
    config = PictureConfig(size=6, patch=2, n_classes=7, d_model=10, n_heads=2, n_layers=2, d_ff=11)
    model, recorder = build_vision(config), Recorder()
    model(torch.rand(1, 6, 6), recorder)
    anatomy = anatomy_of(model)
    assert recorder.tensors.keys() == anatomy.tensors.keys()
    sizes = {"src": 10, "patch": 9, "pixel": 4, "row": 6, "column": 6, "classes": 7, "one": 1, "head": 2, "d_k": 5}
    sizes |= {"d_model": 10, "d_ff": 11}
    for name, made in anatomy.tensors.items():
        shape = [n for n in recorder.tensors[name].shape if n > 1]
        assert shape == [sizes[axis] for axis in made.axes if sizes[axis] > 1], name
        assert {*made.reads} <= anatomy.tensors.keys()
        assert {*made.weights} <= {key for key, _ in model.named_parameters()}
    assert [attention.n_heads for attention in anatomy.attentions["encoder"]] == [2, 2]
    assert anatomy.stack("encoder").tokens == "src"


def test_the_two_readers_are_about_equally_large() -> None:
    large = [
        sum(p.numel() for p in model.parameters()) for model in (build_vision(PictureConfig()), ConvolutionalNetwork())
    ]
    assert max(large) / min(large) < 1.01
