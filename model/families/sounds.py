"""Readers of sound: a spectrogram is cut into patches, as a picture is, or into strips of time."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.families.pictures import PatchEmbedding, cut_into_patches
from model.parts.base_module import Part
from model.parts.embedding import describe_sum
from model.parts.positions import Positions
from model.parts.stacks import Encoder
from model.sound.spectrogram import PITCHES
from model.tap import Tap, no_tap, under


@dataclass(frozen=True)
class SoundConfig:
    """Sizes of a reader of spectrograms, see `model.sound.spectrogram`.

    pitches: from low to high; frames: from left to right, of an Audio Spectrogram Transformer all, of a reader of
    strips at most; high, wide: of a patch, in pitches and frames, which divide both

    Raises: ValueError, naming the numbers, if they do not
    """

    pitches: int = PITCHES
    frames: int = 64
    high: int = 8
    wide: int = 8
    n_classes: int = 10
    d_model: int = 64
    n_heads: int = 4
    n_layers: int = 3
    d_ff: int = 192

    def __post_init__(self) -> None:
        if self.pitches % self.high or self.frames % self.wide:
            raise ValueError(
                f"{self.pitches} pitches × {self.frames} frames are no whole number of patches of "
                f"{self.high} × {self.wide}"
            )

    @property
    def across(self) -> int:
        """Patches from left to right."""
        return self.frames // self.wide

    @property
    def n_patches(self) -> int:
        return self.pitches // self.high * self.across


class SoundEmbedding(PatchEmbedding):
    """As of pictures, with two learned rows before the patches: [class], and one that once learned from a teacher.

    Args:    patches (B,P,high·wide)
    Returns: (B,2+P,d_model)
    Taps:    projected (B,P,d_model); with_class (B,2+P,d_model); those of positions; output (B,2+P,d_model)
    Source:  Gong et al. 2021 (AST), §2.2, whose model begins as DeiT (Touvron et al. 2021) and keeps its second row.
             Differs: patches do not overlap; it begins with random weights
    """

    first = ("class_token", "distillation_token")

    def __init__(self, patch_cells: int, d_model: int, positions: Positions) -> None:
        super().__init__(patch_cells, d_model, positions)
        self.distillation_token = nn.Parameter(torch.zeros(d_model))


class SpectrogramTransformer(nn.Module):
    """A spectrogram in, a score for each class out: the mean of the two first rows is read.

    Args:    spectrograms (B,pitches,frames), from 0 (quiet) to 1 (loudest)
    Returns: logits (B,n_classes)
    Taps:    spectrogram (B,pitches,frames); patches (B,P,high·wide); encoder.embedding.*; encoder.*; mean, normed
             (B,1,d_model); logits (B,1,n_classes)
    Source:  Gong et al. 2021 (AST), §2, Figure 1. Differs: patches do not overlap; attention has no biases
    """

    def __init__(
        self,
        patch: tuple[int, int],
        embedding: SoundEmbedding,
        encoder: Encoder,
        norm: nn.Module,
        n_classes: int,
        d_model: int,
    ) -> None:
        super().__init__()
        self.patch = patch
        self.embedding = embedding
        self.encoder = encoder
        self.head_norm = norm
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, spectrograms: Tensor, tap: Tap = no_tap) -> Tensor:
        inside = under("encoder", tap)
        patches = tap("patches", cut_into_patches(tap("spectrogram", spectrograms), *self.patch))
        x = self.embedding(patches, under("embedding", inside))
        mask = torch.ones(1, 1, 1, x.size(1), dtype=torch.bool, device=x.device)  # every row may look at every other
        x = self.encoder(x, mask, tap=inside)
        mean = tap("mean", x[:, :2].mean(1, keepdim=True))
        return tap("logits", self.head(tap("normed", self.head_norm(mean))))[:, 0]


class StripEmbedding(Part):
    """Each strip of time times a matrix, and its place added.

    Args:    strips (B,T,pitches·wide)
    Returns: (B,T,d_model)
    Taps:    projected (B,T,d_model); those of positions; output (B,T,d_model)
    Source:  Dosovitskiy et al. 2021 (ViT), §3.1, with patches as high as the picture
    """

    def __init__(self, strip_cells: int, d_model: int, positions: Positions) -> None:
        super().__init__()
        self.project = nn.Linear(strip_cells, d_model)
        self.positions = positions

    def forward(self, strips: Tensor, tap: Tap = no_tap) -> Tensor:
        projected = tap("projected", self.project(strips))
        return tap("output", self.positions.embed(projected, 0, tap))


class StripReader(nn.Module):
    """A recording of any length in; out, for each strip of time, a score for "nothing new" and for each class.

    Args:    spectrograms (B,pitches,frames), frames a multiple of `wide`; n_strips (B): of each recording, the rest is
             padding; None if all are
    Returns: logits (B,T,1+n_classes), T strips, the blank first
    Taps:    spectrogram (B,pitches,frames); strips (B,T,pitches·wide); encoder.embedding.*; encoder.*;
             logits (B,T,1+n_classes)
    Source:  Graves et al. 2006 (CTC), §3: a network with one output for each label and one more, the blank. Differs: a
             Transformer's encoder in place of their LSTM
    """

    def __init__(
        self, strip: tuple[int, int], embedding: StripEmbedding, encoder: Encoder, n_classes: int, d_model: int
    ) -> None:
        super().__init__()
        self.strip = strip
        self.embedding = embedding
        self.encoder = encoder
        self.head = nn.Linear(d_model, 1 + n_classes)

    def forward(self, spectrograms: Tensor, n_strips: Tensor | None = None, tap: Tap = no_tap) -> Tensor:
        inside = under("encoder", tap)
        strips = tap("strips", cut_into_patches(tap("spectrogram", spectrograms), *self.strip))
        at = torch.arange(strips.size(1), device=strips.device)
        last = at.new_full((len(strips),), strips.size(1)) if n_strips is None else n_strips
        mask = (at < last[:, None])[:, None, None]  # (B,1,1,T)
        x = self.encoder(self.embedding(strips, under("embedding", inside)), mask, tap=inside)
        return tap("logits", self.head(x))


@describe.register
def _(module: SpectrogramTransformer, scribe: Scribe) -> str:
    encoder = scribe.of_stack("encoder", "src")
    patches = describe_cut(scribe, "patches", module.patch, ("patch", "cell"))
    x = describe(module.embedding, encoder.under("embedding", module="embedding"), patches)
    x = describe(module.encoder, encoder, x, encoder.made("mask", "pad_mask", axes=("one", "one", "src")))
    mean = scribe.made("mean", "mean_of_rows", x, axes=("one", "d_model"), constants=(2.0,))
    of_one = replace(scribe.of_part("head_norm", "normed"), tokens="one")
    normed = describe(module.head_norm, of_one, mean)
    return scribe.made("logits", "linear", normed, weights=("head.weight", "head.bias"), axes=("one", "classes"))


@describe.register
def _(module: StripEmbedding, scribe: Scribe, strips: str) -> str:
    projected = scribe.made("projected", "linear", strips, weights=("project.weight", "project.bias"))
    return describe_sum(module.positions, scribe, "output", "add_embeddings", projected)


@describe.register
def _(module: StripReader, scribe: Scribe) -> str:
    encoder = scribe.of_stack("encoder", "src")
    strips = describe_cut(scribe, "strips", module.strip, ("src", "cell"))
    x = describe(module.embedding, encoder.under("embedding", module="embedding"), strips)
    x = describe(module.encoder, encoder, x, encoder.made("mask", "pad_mask", axes=("one", "one", "src")))
    return scribe.made("logits", "linear", x, weights=("head.weight", "head.bias"), axes=("src", "classes"))


def describe_cut(scribe: Scribe, what: str, patch: tuple[int, int], axes: tuple[str, str]) -> str:
    given = scribe.made("spectrogram", "given", axes=("pitch", "frame"))
    return scribe.made(what, "cut_spectrogram", given, axes=axes, constants=tuple(map(float, patch)))
