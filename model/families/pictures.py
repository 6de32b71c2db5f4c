"""Readers of pictures: a Vision Transformer, which takes patches for tokens, Swin, and a convolutional network."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.parts.base_module import Part
from model.parts.embedding import describe_sum
from model.parts.positions import Positions
from model.parts.stacks import Encoder
from model.tap import Tap, no_tap, under


@dataclass(frozen=True)
class PictureConfig:
    """Sizes of a Vision Transformer for square pictures.

    size: pixels to a side; patch: those of a patch, which divides it; channels: numbers of a pixel, 1 in grey

    Raises: ValueError, naming both numbers, if it does not
    """

    size: int = 28
    patch: int = 7
    n_classes: int = 10
    d_model: int = 48
    n_heads: int = 4
    n_layers: int = 3
    d_ff: int = 192
    channels: int = 1

    def __post_init__(self) -> None:
        if self.size % self.patch:
            raise ValueError(
                f"a picture of {self.size} pixels to a side has no whole number of patches of {self.patch}"
            )

    @property
    def side(self) -> int:
        """Patches to a side."""
        return self.size // self.patch

    @property
    def n_patches(self) -> int:
        return self.side**2


@dataclass(frozen=True)
class SwinConfig(PictureConfig):
    """Sizes of a Swin Transformer, about as large as the Vision Transformer.

    window: patches to the side of a window, which divides that of the picture; shift: of the windows of every second
    block, in patches; 0 if they stay where they are

    Raises: ValueError, naming the numbers, if windows do not fill the picture, or shift by more than themselves
    """

    patch: int = 2
    n_layers: int = 4
    d_ff: int = 120
    window: int = 7
    shift: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.side % self.window or not 0 <= self.shift < self.window:
            raise ValueError(
                f"windows of {self.window} patches, shifted by {self.shift}, do not fill a picture of {self.side}"
            )


def cut_into_patches(pictures: Tensor, high: int, wide: int) -> Tensor:
    """Patches of `high` × `wide` pixels, row by row, each as one row of numbers.

    Args:    pictures (B,h,w); in colour (B,h,w,C)
    Returns: (B,P,high·wide); in colour (B,P,C·high·wide), one colour after the other
    Source:  Dosovitskiy et al. 2021 (ViT), §3.1. Differs: none
    """
    rows = pictures.unfold(1, high, high).unfold(2, wide, wide)  # (B,h/high,w/wide,[C,]high,wide)
    return rows.flatten(3).flatten(1, 2)


class PatchEmbedding(Part):
    """Each patch times a matrix, [class] before them, a learned vector for each place added.

    Args:    patches (B,P,C·patch²)
    Returns: (B,1+P,d_model)
    Taps:    projected (B,P,d_model); with_class (B,1+P,d_model); those of positions; output (B,1+P,d_model)
    Source:  Dosovitskiy et al. 2021, §3.1, Eq. 1. Differs: no dropout
    """

    first: tuple[str, ...] = ("class_token",)  # names of the learned rows before the patches

    def __init__(self, patch_pixels: int, d_model: int, positions: Positions) -> None:
        super().__init__()
        self.project = nn.Linear(patch_pixels, d_model)
        self.class_token = nn.Parameter(torch.zeros(d_model))
        self.positions = positions

    def forward(self, patches: Tensor, tap: Tap = no_tap) -> Tensor:
        projected = tap("projected", self.project(patches))  # (B,P,d_model)
        first = torch.stack([getattr(self, name) for name in self.first]).expand(len(patches), -1, -1)
        rows = tap("with_class", torch.cat([first, projected], 1))
        return tap("output", self.positions.embed(rows, 0, tap))


class VisionTransformer(nn.Module):
    """A picture in, a score for each class out: the row of [class] is read once all patches have been mixed into it.

    Args:    pictures (B,size,size), from 0 (paper) to 1 (ink); in colour (B,size,size,C)
    Returns: logits (B,n_classes)
    Taps:    picture (B,size,size[,C]); patches (B,P,C·patch²); encoder.embedding.*; encoder.*; logits (B,1,n_classes)
    Source:  Dosovitskiy et al. 2021 (ViT), §3.1, Eq. 1–4. Differs: attention has no biases
    """

    def __init__(self, patch: int, embedding: PatchEmbedding, encoder: Encoder, n_classes: int, d_model: int) -> None:
        super().__init__()
        self.patch = patch
        self.embedding = embedding
        self.encoder = encoder
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, pictures: Tensor, tap: Tap = no_tap) -> Tensor:
        inside = under("encoder", tap)
        patches = tap("patches", cut_into_patches(tap("picture", pictures), self.patch, self.patch))
        x = self.embedding(patches, under("embedding", inside))
        mask = torch.ones(1, 1, 1, x.size(1), dtype=torch.bool, device=x.device)  # every row may look at every other
        x = self.encoder(x, mask, tap=inside)
        return tap("logits", self.head(x[:, :1]))[:, 0]


class Swin(nn.Module):
    """A picture in, a score for each class out: patches look around within windows, and the mean of all is read.

    Args:    pictures (B,size,size), from 0 (paper) to 1 (ink)
    Returns: logits (B,n_classes)
    Taps:    picture (B,size,size); patches (B,P,patch²); encoder.embedding.output (B,P,d_model); encoder.*;
             mean (B,1,d_model); logits (B,1,n_classes)
    Source:  Liu et al. 2021 (Swin Transformer), §3.1 and Figure 3. Differs: one stage, so no patches are merged; no
             norm behind the embedding; attention has no biases
    """

    def __init__(self, patch: int, d_model: int, encoder: Encoder, n_classes: int) -> None:
        super().__init__()
        self.patch = patch
        self.project = nn.Linear(patch**2, d_model)
        self.encoder = encoder
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, pictures: Tensor, tap: Tap = no_tap) -> Tensor:
        patches = tap("patches", cut_into_patches(tap("picture", pictures), self.patch, self.patch))
        x = tap("encoder.embedding.output", self.project(patches))
        everything = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=x.device)  # windows have masks of their own
        x = self.encoder(x, everything, tap=under("encoder", tap))
        return tap("logits", self.head(tap("mean", x.mean(1, keepdim=True))))[:, 0]


class ConvolutionalNetwork(nn.Module):
    """Two convolutions with pooling, then two layers: what a picture was read with before.

    Args:    pictures (B,28,28), from 0 to 1
    Returns: logits (B,n_classes)
    Source:  LeCun et al. 1998 (LeNet-5), §II.B. Differs: ReLU and the largest of each square, and fewer layers
    """

    def __init__(self, n_classes: int = 10) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(1, 24, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),  # (B,24,14,14)
            *(nn.Conv2d(24, 48, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),  # (B,48,7,7)
            *(nn.Flatten(), nn.Linear(48 * 7 * 7, 25), nn.ReLU(), nn.Linear(25, n_classes)),
        )

    def forward(self, pictures: Tensor) -> Tensor:
        logits: Tensor = self.layers(pictures[:, None])
        return logits


@describe.register
def _(module: PatchEmbedding, scribe: Scribe, patches: str) -> str:
    axes = ("patch", "d_model")
    projected = scribe.made("projected", "linear", patches, weights=("project.weight", "project.bias"), axes=axes)
    rows = scribe.made("with_class", "put_before", projected, weights=module.first)
    return describe_sum(module.positions, scribe, "output", "add_embeddings", rows)


@describe.register
def _(module: VisionTransformer, scribe: Scribe) -> str:
    encoder = scribe.of_stack("encoder", "src")
    in_colour = module.embedding.project.in_features > module.patch**2
    picture = scribe.made("picture", "given", axes=("row", "column", "colour")[: 2 + in_colour])
    patches = scribe.made(
        "patches", "cut_into_patches", picture, axes=("patch", "pixel"), constants=(float(module.patch),)
    )
    x = describe(module.embedding, encoder.under("embedding", module="embedding"), patches)
    x = describe(module.encoder, encoder, x, encoder.made("mask", "pad_mask", axes=("one", "one", "src")))
    return scribe.made("logits", "linear", x, weights=("head.weight", "head.bias"), axes=("one", "classes"))


@describe.register
def _(module: Swin, scribe: Scribe) -> str:
    encoder = scribe.of_stack("encoder", "src")
    picture, axes = scribe.made("picture", "given", axes=("row", "column")), ("src", "pixel")
    patches = scribe.made("patches", "cut_into_patches", picture, axes=axes, constants=(float(module.patch),))
    embedding = encoder.under("embedding", module="project")
    x = embedding.made("output", "linear", patches, weights=("weight", "bias"))
    x = describe(module.encoder, encoder, x, encoder.made("mask", "window_mask", axes=("one", "one", "one")))
    mean = scribe.made("mean", "mean_of_rows", x, axes=("one", "d_model"))
    return scribe.made("logits", "linear", mean, weights=("head.weight", "head.bias"), axes=("one", "classes"))
