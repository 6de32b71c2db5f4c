"""The weights of the model before training: the random numbers that torch draws from seed 0, in the order of a build.

First every layer draws its own first numbers, as torch makes it; then each matrix is drawn anew by Xavier's rule, and
at last the embedding.
"""

import functools

import numpy as np
import torch

Weights = dict[str, np.ndarray]


@functools.cache
def random_weights(*, vocab_size: int, d_model: int, d_ff: int, n_layers: int, **_: float) -> dict[str, np.ndarray]:
    """By name, as `safetensors` would hold them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = {"embedding.matrix": torch.nn.Embedding(vocab_size, d_model)}
        for stack, attentions in (("encoder", ("self_attn",)), ("decoder", ("self_attn", "cross_attn"))):
            for n in range(n_layers):
                path = f"{stack}.layers.{n}"
                for attention in attentions:
                    for letter in "qkvo":
                        made[f"{path}.{attention}.w_{letter}"] = torch.nn.Linear(d_model, d_model, bias=False)
                made[f"{path}.feed_forward.w_1"] = torch.nn.Linear(d_model, d_ff)
                made[f"{path}.feed_forward.w_2"] = torch.nn.Linear(d_ff, d_model)
        found = {f"{path}.{name}": p.data for path, one in made.items() for name, p in one.named_parameters()}
        for matrix in [one for one in found.values() if one.dim() > 1]:
            torch.nn.init.xavier_uniform_(matrix)
        torch.nn.init.normal_(found["embedding.matrix.weight"], std=d_model**-0.5)
    weights = {name: one.numpy().astype(np.float64) for name, one in found.items()}
    for stack, count in (("encoder", 2), ("decoder", 3)):
        for path in (f"{stack}.layers.{n}.add_norm_{i}.norm" for n in range(n_layers) for i in range(1, count + 1)):
            weights |= {f"{path}.weight": np.ones(d_model), f"{path}.bias": np.zeros(d_model)}
    return weights


@functools.cache
def random_gpt(*, vocab_size: int, d_model: int, d_ff: int, n_layers: int, max_len: int, **_: object) -> Weights:
    """The same of a GPT: its matrices are drawn with a deviation of 0.02, those that add to the stream are smaller."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        table, places = torch.nn.Embedding(vocab_size, d_model), torch.nn.Embedding(max_len, d_model)
        torch.nn.init.normal_(places.weight, std=0.02)
        made = {"embedding.matrix": table, "embedding.positions.table": places}
        for n in range(n_layers):
            path = f"decoder.layers.{n}"
            for letter in "qkvo":
                made[f"{path}.self_attn.w_{letter}"] = torch.nn.Linear(d_model, d_model, bias=False)
            made[f"{path}.feed_forward.w_1"] = torch.nn.Linear(d_model, d_ff)
            made[f"{path}.feed_forward.w_2"] = torch.nn.Linear(d_ff, d_model)
        found = {f"{path}.{name}": p.data for path, one in made.items() for name, p in one.named_parameters()}
        for one in found.values():
            torch.nn.init.normal_(one, std=0.02) if one.dim() > 1 else torch.nn.init.zeros_(one)
    weights = {name: one.numpy().astype(np.float64) for name, one in found.items()}
    for name in (one for one in weights if one.endswith(("w_o.weight", "w_2.weight"))):
        weights[name] /= (2 * n_layers) ** 0.5
    norms = [f"decoder.layers.{n}.add_norm_{i}.norm" for n in range(n_layers) for i in (1, 2)]
    for path in (*norms, "decoder.norm"):
        weights |= {f"{path}.weight": np.ones(d_model), f"{path}.bias": np.zeros(d_model)}
    return weights


@functools.cache
def random_stack(draw: int) -> tuple[np.ndarray, np.ndarray, list[dict[str, np.ndarray]]]:
    """Rows that go in, rows that the output is multiplied by, and the matrices of 24 narrow layers, by Xavier's
    rule."""
    rows = torch.randn(2, 1, 8, 32, generator=torch.Generator().manual_seed(draw)).numpy().astype(np.float64)
    random, layers = torch.Generator().manual_seed(draw), []
    for _ in range(24):
        shapes = dict.fromkeys("qkvo", (32, 32)) | {"1": (128, 32), "2": (32, 128)}
        drawn = {name: torch.empty(shape) for name, shape in shapes.items()}
        for one in drawn.values():
            torch.nn.init.xavier_uniform_(one, generator=random)
        layers.append({name: one.numpy().astype(np.float64) for name, one in drawn.items()})
    return rows[0, 0], rows[1, 0], layers


def drawn_table(rows: int, columns: int) -> np.ndarray:
    """Numbers with mean 0 and deviation 1, from seed 0."""
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(0)).numpy().astype(np.float64)


def drawn_matrices(shapes: dict[str, tuple[int, int]]) -> dict[str, np.ndarray]:
    """Matrices by Xavier's rule, one after the other, from seed 0."""
    random = torch.Generator().manual_seed(0)
    return {
        name: torch.nn.init.xavier_uniform_(torch.empty(shape), generator=random).numpy().astype(np.float64)
        for name, shape in shapes.items()
    }
