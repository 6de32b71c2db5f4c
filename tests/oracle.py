"""The shipped model computed a second time, from its file, with torch.nn.functional alone: no code of model/."""

import json
import math
from functools import cached_property
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

SHIPPED = Path(__file__).parents[1] / "assets" / "model"
SOS, EOS = 1, 2


class Oracle:
    """One sentence through the model: its ids, its translation, and the attention of every head."""

    def __init__(self, sentence: str, folder: Path = SHIPPED) -> None:
        self.config = json.loads((folder / "config.json").read_text())
        self.file = {name: w.float() for name, w in load_file(folder / "model.safetensors").items()}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.src = [*self.tokenizer.encode(sentence, add_special_tokens=False).ids, EOS]
        self.found: dict[tuple[str, int], dict[str, Tensor]] = {}

    @cached_property
    def labels(self) -> list[int]:
        """What greedy decoding writes, `<eos>` last."""
        memory, labels = self._encode(), [SOS]
        while labels[-1] != EOS and len(labels) <= 100:
            labels.append(int(self._decode(labels, memory)[-1].argmax()))
        return labels[1:]

    @property
    def translation(self) -> str:
        return self.tokenizer.decode(self.labels[:-1])

    def attention(self, kind: str, layer: int) -> dict[str, Tensor]:
        """products, scaled and weights (H,T,S) of the "encoder", "decoder" or "cross" attention of a layer."""
        self._decode([SOS, *self.labels[:-1]], self._encode())
        return self.found[kind, layer]

    def _embed(self, ids: list[int]) -> Tensor:
        d = self.config["d_model"]
        angle = torch.arange(len(ids))[:, None] * torch.exp(torch.arange(0, d, 2) * (-math.log(10000) / d))
        waves = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
        return F.embedding(torch.tensor(ids), self.file["embedding.matrix.weight"]) * math.sqrt(d) + waves

    def _attend(self, at: str, name: str, kind: str, layer: int, x: Tensor, memory: Tensor, causal: bool) -> Tensor:
        def heads(letter: str, y: Tensor) -> Tensor:
            return F.linear(y, self.file[f"{at}.{name}.w_{letter}.weight"]).unflatten(-1, (n, -1)).transpose(0, 1)

        n = self.config["n_heads"]
        q, k, v = heads("q", x), heads("k", memory), heads("v", memory)
        products = torch.einsum("htd,hsd->hts", q, k)
        scaled = products / math.sqrt(q.shape[-1])
        future = torch.ones(products.shape[1:]).triu(1).bool() if causal else torch.zeros(products.shape[1:]).bool()
        weights = F.softmax(scaled.masked_fill(future, -math.inf), -1)
        self.found[kind, layer] = {"products": products, "scaled": scaled, "weights": weights}
        return F.linear((weights @ v).transpose(0, 1).flatten(1), self.file[f"{at}.{name}.w_o.weight"])

    def _norm(self, at: str, x: Tensor) -> Tensor:
        weight, bias = self.file[f"{at}.norm.weight"], self.file[f"{at}.norm.bias"]
        return F.layer_norm(x, weight.shape, weight, bias)

    def _feed_forward(self, at: str, x: Tensor) -> Tensor:
        w = {n: (self.file[f"{at}.w_{n}.weight"], self.file[f"{at}.w_{n}.bias"]) for n in (1, 2)}
        return F.linear(F.relu(F.linear(x, *w[1])), *w[2])

    def _encode(self) -> Tensor:
        x = self._embed(self.src)
        for n in range(self.config["n_layers"]):
            at = f"encoder.layers.{n}"
            x = self._norm(f"{at}.add_norm_1", x + self._attend(at, "self_attn", "encoder", n, x, x, causal=False))
            x = self._norm(f"{at}.add_norm_2", x + self._feed_forward(f"{at}.feed_forward", x))
        return x

    def _decode(self, ids: list[int], memory: Tensor) -> Tensor:
        x = self._embed(ids)
        for n in range(self.config["n_layers"]):
            at = f"decoder.layers.{n}"
            x = self._norm(f"{at}.add_norm_1", x + self._attend(at, "self_attn", "decoder", n, x, x, causal=True))
            x = self._norm(f"{at}.add_norm_2", x + self._attend(at, "cross_attn", "cross", n, x, memory, causal=False))
            x = self._norm(f"{at}.add_norm_3", x + self._feed_forward(f"{at}.feed_forward", x))
        return x @ self.file["embedding.matrix.weight"].T
