"""Train two towers, for pictures and for words: `python -m training.clip EMOJI.npz EMOJI.tsv TEXTS… --out FOLDER`.

EMOJI.npz holds image (N,h,w,3), 0 to 255, on white; EMOJI.tsv, in the same order and with a head, columns "name",
"descriptions" and "keywords" (" | " between them), "held-out description" (keywords, ", " between them) and "split":
train, val or test. A picture is learned with its descriptions and with one or two of its keywords, never with two of
those that its held-out description joins. TEXTS are running English (of a .tsv the first column): training begins with
vectors of words that they tell. Start the same command again after a kill: it goes on from the last saved state. In the
end the folder holds the weights, the sizes, each picture, its vector and what is said of it, metrics.json
and a card; it prints how often a picture is among the five nearest to a text, with standard errors.
"""

import argparse
import csv
import dataclasses
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor, nn

from model.build_beyond_text import build_towers
from model.families.two_towers import TowersConfig, TwoTowers, contrastive_loss, cosines, parts_of_texts, words_of
from model.files import checkpoint
from model.files.load_clip import EMOJI, METRICS, PICTURES, TRAIN, VECTORS
from training.company import fitted_table, word_vectors
from training.loop.corpus import read_documents
from training.loop.data import NO_VARIATION
from training.loop.recipe import Recipe, in_steps
from training.loop.resumable_run import hardware
from training.loop.small_run import train_several, train_small
from training.loop.updates import Batch
from training.pictures import share

NAME = "towers"
CARD = Path(__file__).parent / "cards" / "clip.md"
BATCH_SIZE, SEED = 128, 1
VIEWS = 16  # varied copies of a picture whose vectors, with its own, make up the vector that is kept
NEAREST = 5  # pictures among which the right one is looked for
TURNED, SCALED, MOVED = 0.2, 0.2, 0.2  # radians; share of the size; share of half a picture: at most, to either side
SHADE, NOISE = 0.2, 0.1  # how much each colour is weakened, and how strong noise is, at most
RECIPE = Recipe(
    steps=8_000,
    peak_learning_rate=1e-3,
    warmup_steps=500,
    decay_fraction=0.6,
    label_smoothing=0.0,
    variation=NO_VARIATION,
)


@dataclasses.dataclass(frozen=True)
class Emoji:
    """name; descriptions; keywords; held_out: three keywords of which no text that its picture is learned with
    joins two, or none; split"""

    name: str
    descriptions: tuple[str, ...]
    keywords: tuple[str, ...]
    held_out: tuple[str, ...]
    split: str


def read_emoji(pictures: Path, words: Path) -> tuple[Tensor, list[Emoji]]:
    """Pictures (N,h,w,3) from 0 to 1, and what is said of them. Raises: OSError or KeyError, naming the file or column;
    ValueError if they are not equally many
    """
    with words.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    told = [
        Emoji(
            row["name"],
            tuple(row["descriptions"].split(" | ")),
            tuple(word for word in row["keywords"].split(" | ") if word),
            tuple(word for word in row["held-out description"].split(", ") if word),
            row["split"],
        )
        for row in rows
    ]
    with np.load(pictures) as held:
        drawn = torch.from_numpy(held["image"]).float() / 255
    if len(drawn) != len(told):
        raise ValueError(f"{pictures} holds {len(drawn)} pictures, {words} has {len(told)} rows")
    return drawn, told


def texts_of(emoji: Emoji) -> list[str]:
    """All texts that its picture is learned with: its descriptions, but for those that join two held-out keywords; each
    keyword; any two, unless both are held out.
    """
    apart = set(emoji.held_out)

    def joins(words: Sequence[str]) -> bool:
        return len(apart.intersection(words)) > 1

    descriptions = [text for text in emoji.descriptions if not joins(text.split(", "))]
    pairs = [(one, other) for one in emoji.keywords for other in emoji.keywords if one != other]
    return [*descriptions, *emoji.keywords, *(", ".join(pair) for pair in pairs if not joins(pair))]


def drawn_text(emoji: Emoji, texts: Sequence[str], generator: torch.Generator) -> str:
    """One of its texts: by lot a description, or one of the others."""
    n = sum(text in emoji.descriptions for text in texts)
    described = n == len(texts) or bool(torch.rand(1, generator=generator) < 0.5)
    low, high = (0, n) if described and n else (n, len(texts))
    return texts[int(torch.randint(low, high, (1,), generator=generator))]


def varied(pictures: Tensor, generator: torch.Generator) -> Tensor:
    """Pictures (B,h,w,3) turned, scaled, moved, half of them mirrored, their colours weakened, some noise added."""
    n = len(pictures)

    def lot(most: float, *shape: int) -> Tensor:
        return most * (2 * torch.rand(shape, generator=generator) - 1)

    angle, size, mirrored = lot(TURNED, n), 1 + lot(SCALED, n), torch.sign(lot(1.0, n))
    grids = torch.zeros(n, 2, 3)
    grids[:, 0, 0], grids[:, 0, 1] = mirrored * size * angle.cos(), -size * angle.sin()
    grids[:, 1, 0], grids[:, 1, 1] = mirrored * size * angle.sin(), size * angle.cos()
    grids[:, :, 2] = lot(MOVED, n, 2)
    ink = (1 - pictures).permute(0, 3, 1, 2)  # white comes in at the edges
    at = nn.functional.affine_grid(grids, list(ink.shape), align_corners=False)
    moved = nn.functional.grid_sample(ink, at, align_corners=False).permute(0, 2, 3, 1)
    weaker = 1 - SHADE * torch.rand((n, 1, 1, 3), generator=generator)
    noise = NOISE * torch.rand((n, 1, 1, 1), generator=generator) * torch.randn(pictures.shape, generator=generator)
    return (1 - weaker * moved + noise).clamp(0, 1)


def batches(pictures: Tensor, told: Sequence[Emoji], n_parts: int) -> Iterator[Batch]:
    """Different pictures, each with a text of its own; without end, and the same whenever they are asked for."""
    generator = torch.Generator().manual_seed(SEED + 1)
    every = [texts_of(emoji) for emoji in told]
    while True:
        at = torch.randperm(len(told), generator=generator)[:BATCH_SIZE]
        texts = [drawn_text(told[n], every[n], generator) for n in at.tolist()]
        parts = parts_of_texts(texts, n_parts)
        yield {"pictures": varied(pictures[at], generator), "parts": parts, "labels": 1 + torch.arange(len(at))}


def loss(network: nn.Module, batch: Batch) -> Tensor:
    return contrastive_loss(network(batch["pictures"], batch["parts"]))


def learned_from(pictures: Tensor, told: Sequence[Emoji], split: str) -> tuple[Tensor, list[Emoji]]:
    """The pictures of one part, and what is said of them."""
    at = [n for n, emoji in enumerate(told) if emoji.split == split]
    return pictures[at], [told[n] for n in at]


def train(
    data: tuple[Tensor, list[Emoji]], texts: Sequence[Path], out: Path, recipe: Recipe = RECIPE
) -> dict[str, Any]:
    """Train and write both. Returns: seconds of their training, by the processor's clock; parameters; steps"""
    torch.manual_seed(SEED)
    config = TowersConfig()
    network = build_towers(config)
    table = fitted_table(*word_vectors(read_documents(texts), config.d_model), config.n_parts)
    network.texts.embedding.load_state_dict({"table.weight": table})
    seconds = train_small(
        network, batches(*learned_from(*data, TRAIN), config.n_parts), recipe, loss, out / f"{NAME}.pt"
    )
    checkpoint.save_weights(out / checkpoint.WEIGHTS, network.state_dict())
    n_parameters = sum(p.numel() for p in network.parameters())
    figures = {"processor_seconds": round(seconds), "parameters": n_parameters, "steps": recipe.steps}
    (out / f"{NAME}.json").write_text(json.dumps(figures))
    return figures


def found(fits: Tensor) -> Tensor:
    """Of texts (N,N), a row for each, its own picture in the diagonal: whether this is among the nearest (N)."""
    return (fits.topk(min(NEAREST, fits.size(1))).indices == torch.arange(len(fits))[:, None]).any(1)


@torch.inference_mode()
def vectors_of(network: TwoTowers, pictures: Tensor) -> Tensor:
    """The vector of each picture, of length 1 (N,d_shared): the mean of its own and of those of varied copies."""
    generator = torch.Generator().manual_seed(SEED)
    views = [pictures, *(varied(pictures, generator) for _ in range(VIEWS))]
    vectors = [torch.cat([network.pictures(some) for some in view.split(200)]) for view in views]
    return nn.functional.normalize(torch.stack(vectors).sum(0), dim=-1)


@torch.inference_mode()
def measured(network: TwoTowers, config: TowersConfig, pictures: Tensor, told: Sequence[Emoji]) -> dict[str, Any]:
    """How often a picture is among the five nearest to a text, out of its own part: known pictures, by their names and
    by words that no text of the picture joins, if it has such; unseen ones by their names. With standard errors, how
    many there are, and what chance would find.
    """
    figures = {}
    for name, split, by_name in (("known", TRAIN, True), ("new words", TRAIN, False), ("unseen", "test", True)):
        drawn, of = learned_from(pictures, told, split)
        asked = [n for n, emoji in enumerate(of) if by_name or emoji.held_out]
        drawn, of = drawn[asked], [of[n] for n in asked]
        texts = [emoji.name if by_name else ", ".join(emoji.held_out) for emoji in of]
        vectors = torch.cat([network.texts(parts_of_texts([text], config.n_parts)) for text in texts])
        hits = found(cosines(vectors, vectors_of(network, drawn)))
        figures[name] = {"found": share(hits), "pictures": len(of), "chance": round(min(1, NEAREST / len(of)), 4)}
    return figures


def card(metrics: dict[str, Any]) -> str:
    """The model card: its words with the figures filled in."""
    percent = {name: f"{100 * of['found'][0]:.1f} ± {100 * of['found'][1]:.1f}" for name, of in metrics["test"].items()}
    text = CARD.read_text(encoding="utf-8")
    without = metrics["test"]["known"]["pictures"] - metrics["test"]["new words"]["pictures"]
    return text.format(percent=percent, of=metrics["test"], without=without, **metrics["training"], **metrics["recipe"])


def as_png(picture: Tensor) -> bytes:
    """A picture (h,w,3) from 0 to 1, red, green and blue, as a file that a browser reads."""
    file = io.BytesIO()
    Image.fromarray((255 * picture).round().byte().numpy()).save(file, "PNG", optimize=True)
    return file.getvalue()


def keep(pictures: Tensor, told: Sequence[Emoji], out: Path) -> None:
    """Write the pictures as files one behind the other, and where each ends; of each its name, its part, its words."""
    files = [as_png(picture) for picture in pictures]
    ends = torch.tensor([0, *map(len, files)]).cumsum(0)
    save_file({"files": torch.frombuffer(bytearray(b"".join(files)), dtype=torch.uint8), "ends": ends}, out / PICTURES)
    lines = ["name\tsplit\twords"]
    for emoji in told:
        words = {word for text in (*emoji.descriptions, *emoji.keywords) for word in words_of(text)}
        lines.append(f"{emoji.name}\t{emoji.split}\t{' '.join(sorted(words))}")
    (out / EMOJI).write_text("\n".join(lines) + "\n", encoding="utf-8")


def finish(data: tuple[Tensor, list[Emoji]], out: Path) -> None:
    """Write the sizes, the pictures, the vectors, what was measured and the card; print what was measured."""
    config = TowersConfig()
    (out / checkpoint.CONFIG).write_text(json.dumps(dataclasses.asdict(config), indent=2) + "\n")
    network = build_towers(config)
    network.load_state_dict(checkpoint.load_weights(out / checkpoint.WEIGHTS))
    network.eval()
    keep(*data, out)
    save_file({"vectors": vectors_of(network, data[0]).half()}, out / VECTORS)
    recipe = {name: getattr(RECIPE, name) for name in ("warmup_steps", "decay_fraction", "peak_learning_rate")}
    metrics = {
        "recipe": recipe | {"batch_size": BATCH_SIZE, "views": VIEWS, "seed": SEED, "hardware": hardware()},
        "training": json.loads((out / f"{NAME}.json").read_text()),
        "test": measured(network, config, *data),
        "temperature": round(network.temperature.item(), 4),
    }
    (out / METRICS).write_text(json.dumps(metrics, indent=2) + "\n")
    (out / "README.md").write_text(card(metrics), encoding="utf-8")
    for name, of in metrics["test"].items():
        mean, error = of["found"]
        print(f"{name}: {100 * mean:.1f}% ± {100 * error:.1f} (chance {100 * of['chance']:.1f}%)")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.clip", description=__doc__)
    parser.add_argument("pictures", type=Path, help="EMOJI.npz, see above")
    parser.add_argument("words", type=Path, help="EMOJI.tsv, see above")
    parser.add_argument("texts", type=Path, nargs="+", help="TEXTS, see above")
    given = parser.parse_known_args()[0]

    def data() -> tuple[Tensor, list[Emoji]]:
        return read_emoji(given.pictures, given.words)

    train_several(
        parser,
        [NAME],
        RECIPE.steps,
        lambda name, out, steps: train(data(), given.texts, out, in_steps(RECIPE, steps)),
        lambda out: finish(data(), out),
    )


if __name__ == "__main__":
    main()
