"""Pictures and words in one space: a tower reads pictures, another reads words, and what belongs together comes to lie
together.
"""

import math
import re
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.families.pictures import PictureConfig, VisionTransformer
from model.parts.base_module import Part
from model.parts.stacks import Encoder
from model.tap import Tap, no_tap, under

MOST_WORDS, MOST_PARTS = 12, 16  # words of a text that are read; parts of a word: itself and its trigrams
COLDEST = 0.01  # the lowest temperature (§2.5: no score grows to more than 100 times a cosine)
# They say nothing of a picture, and hardly any keyword has one: a tower that read them found "a cake" less often.
SMALL_WORDS = frozenset(
    "a an and are at for from in is it its my of on or s some that the this to was with your".split()
)
OF_EMOJI = PictureConfig(32, 8, n_classes=64, d_model=64, channels=3)


@dataclass(frozen=True)
class TowersConfig:
    """Sizes of both towers. d_shared: numbers of a vector that pictures and texts have in common; n_parts: rows of the
    table of parts of words
    """

    pictures: PictureConfig = OF_EMOJI
    n_parts: int = 32_768
    d_model: int = 64
    n_heads: int = 4
    n_layers: int = 1
    d_ff: int = 192

    @property
    def d_shared(self) -> int:
        return self.pictures.n_classes


def all_words(text: str) -> list[str]:
    """The words of a text in small letters, without marks and accents."""
    plain = unicodedata.normalize("NFKD", text.lower())
    return re.findall(r"[^\W_]+", "".join(c for c in plain if not unicodedata.combining(c)))


def words_of(text: str) -> list[str]:
    """The words that are read: the first 12 that are none of the small words; these too, if there are no others."""
    words = all_words(text)
    return ([word for word in words if word not in SMALL_WORDS] or words)[:MOST_WORDS]


def parts_of(word: str, n_parts: int) -> list[int]:
    """Rows of the table for a word and for its trigrams, "<" before and ">" behind it; row 0 is for none.

    Different parts may share a row: nobody keeps a list of them, so that any word can be read.

    Source: Bojanowski et al. 2017 (fastText), §3.2. Differs: trigrams alone; another hash
    """
    framed = f"<{word}>"
    parts = [framed, *(framed[at : at + 3] for at in range(len(framed) - 2))][:MOST_PARTS]
    return [1 + zlib.crc32(part.encode()) % (n_parts - 1) for part in parts]


def parts_of_texts(texts: Sequence[str], n_parts: int) -> Tensor:
    """Rows of the table (B,W,P), as many words and parts as the longest needs, 0 for none; at least one word each."""
    told = [[parts_of(word, n_parts) for word in words_of(text)] or [[0]] for text in texts]
    high, wide = max(map(len, told)), max(len(parts) for words in told for parts in words)
    made = torch.zeros(len(told), high, wide, dtype=torch.long)
    for row, words in zip(made, told, strict=True):
        for cells, parts in zip(row, words, strict=False):
            cells[: len(parts)] = torch.tensor(parts)
    return made


class WordEmbedding(Part):
    """Each word as the mean of the rows of its parts, so that words never seen have a vector, too.

    Args:    parts (B,W,P) integer, 0 for none
    Returns: (B,W,d_model); of a word without parts, zeros
    Taps:    output (B,W,d_model)
    Source:  Bojanowski et al. 2017 (fastText), §3.2. Differs: the mean, not the sum
    """

    def __init__(self, n_parts: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Embedding(n_parts, d_model)

    def forward(self, parts: Tensor, tap: Tap = no_tap) -> Tensor:
        there = (parts > 0).unsqueeze(-1)
        total = (self.table(parts) * there).sum(2)
        return tap("output", total / there.sum(2).clamp(min=1))


class TextTower(nn.Module):
    """Words in, one vector for all of them out: each looks at each other, and the mean of all is read. Their order
    does not count.

    Args:    parts (B,W,P) integer, see `parts_of_texts`
    Returns: (B,d_shared)
    Taps:    parts (B,W,P); encoder.embedding.output (B,W,d_model); encoder.*; mean (B,1,d_model); vector (B,1,d_shared)
    Source:  Radford et al. 2021 (CLIP), §2.4. Differs: words in place of pieces, no places, no causal mask, and the
             mean of all rows is read
    """

    def __init__(self, embedding: WordEmbedding, encoder: Encoder, d_model: int, d_shared: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.project = nn.Linear(d_model, d_shared, bias=False)

    def forward(self, parts: Tensor, tap: Tap = no_tap) -> Tensor:
        inside, parts = under("encoder", tap), tap("parts", parts)
        x = self.embedding(parts, under("embedding", inside))
        there = (parts > 0).any(2)
        there[:, 0] = True  # a text without words has one empty one
        x = self.encoder(x, there[:, None, None], tap=inside)
        counts = there.unsqueeze(-1)
        mean = tap("mean", (x * counts).sum(1, keepdim=True) / counts.sum(1, keepdim=True))
        return tap("vector", self.project(mean))[:, 0]


class TwoTowers(nn.Module):
    """How well each picture of a batch fits each text: the cosine of their vectors over a learned temperature.

    Args:    pictures (B,h,w,3) from 0 to 1; parts (B,W,P), of the text of each
    Returns: (B,B): a row for each picture, a column for each text
    Source:  Radford et al. 2021 (CLIP), §2.3 and 2.5, Figure 3. Differs: the temperature begins at
             0.1, not at 0.07
    """

    def __init__(self, pictures: VisionTransformer, texts: TextTower) -> None:
        super().__init__()
        self.pictures = pictures
        self.texts = texts
        self.cold = nn.Parameter(torch.tensor(math.log(10.0)))  # ln of 1 over the temperature

    @property
    def temperature(self) -> Tensor:
        return torch.exp(-self.cold).clamp(min=COLDEST)

    def forward(self, pictures: Tensor, parts: Tensor) -> Tensor:
        return cosines(self.pictures(pictures), self.texts(parts)) / self.temperature


def cosines(pictures: Tensor, texts: Tensor) -> Tensor:
    """Of each picture's vector (N,d) with each text's (M,d): (N,M), from −1 to 1."""
    return nn.functional.normalize(pictures, dim=-1) @ nn.functional.normalize(texts, dim=-1).T


def contrastive_loss(fits: Tensor) -> Tensor:
    """Mean of −ln P of the right text for each picture, and of the right picture for each text: those of the diagonal.

    Args:    fits (B,B), see `TwoTowers`
    Source:  Radford et al. 2021 (CLIP), §2.3, Figure 3
    """
    own = torch.arange(len(fits), device=fits.device)
    loss = nn.functional.cross_entropy
    return (loss(fits, own) + loss(fits.T, own)) / 2


@describe.register
def _(module: WordEmbedding, scribe: Scribe, parts: str) -> str:
    return scribe.made("output", "mean_of_parts", parts, weights=("table.weight",))


@describe.register
def _(module: TextTower, scribe: Scribe) -> str:
    encoder = scribe.of_stack("encoder", "src")
    parts = scribe.made("parts", "given", axes=("src", "part"))
    x = describe(module.embedding, encoder.under("embedding", module="embedding"), parts)
    x = describe(module.encoder, encoder, x, encoder.made("mask", "pad_mask", axes=("one", "one", "src")))
    mean = scribe.made("mean", "mean_of_rows", x, axes=("one", "d_model"))
    return scribe.made("vector", "linear", mean, weights=("project.weight",), axes=("one", "d_shared"))
