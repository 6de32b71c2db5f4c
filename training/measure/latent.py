"""How little a trained decoder can keep of each piece: `python -m training.measure.latent NAME TRAIN TEST`.

NAME is gpt-mini, with texts, or translator, with a file of pairs. From the first tokens of TRAIN it computes the bases
through which keys and values are squeezed, as latent.safetensors in the model's folder; on TEST it measures the model
at each r, as latent.json. Start the same command again after a kill: it goes on. Delete both files to begin anew.
"""

import argparse
import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from experiments.attention.latent import BASES, FILE, SIZES, WHOLE, basis_of, squeezed
from model.decoding.strategies import Greedy
from model.files.checkpoint import save_weights
from model.files.device import CPU
from model.files.loaded_model import MODELS, TRANSLATOR, LoadedModel, load_model
from model.tap import Recorder, Tap, no_tap
from model.text.tokenizer import EOS_ID, SOS_ID
from model.translate import translate
from training.evaluate import references
from training.loop.corpus import read_corpus
from training.loop.data import read_pairs
from training.measure.family import windows

N_TRAIN, N_TEST, N_TRANSLATED = 200_000, 10_000, 500  # tokens; sentences

Row = tuple[list[int], list[int], int]  # source, what the decoder writes, and from where on that counts


def rows(loaded: LoadedModel, file: Path, n_tokens: int | None = None) -> Iterator[Row]:
    """Of a file, as many as hold so many tokens; None: all. A decoder alone reads windows of a text, with no source."""
    found: Iterator[Row]
    if loaded.name == TRANSLATOR:
        encode = loaded.tokenizer.encode
        found = (([*encode(en), EOS_ID], [*encode(de), EOS_ID], 0) for en, de in read_pairs([file]))
    else:
        documents = read_corpus([file], loaded.tokenizer)
        cut = itertools.chain.from_iterable(windows(one, loaded.config.max_len) for one in documents)
        found = (([], ids.tolist(), first) for ids, first in cut)
    n = 0
    for row in found:
        yield row
        n += len(row[1]) - row[2]
        if n_tokens and n >= n_tokens:
            return


def logits_of(loaded: LoadedModel, row: Row, tap: Tap = no_tap) -> Tensor:
    """(T,V) at the places that count, by teacher forcing."""
    memory = loaded.model.encode(torch.tensor([row[0]], dtype=torch.long))
    return loaded.model.decode(torch.tensor([[SOS_ID, *row[1][:-1]]]), memory, tap=tap)[0, row[2] :]


@torch.inference_mode()
def bases_of(loaded: LoadedModel, train: Path) -> dict[str, Tensor]:
    """Of all keys and values of self-attention that the first tokens of a text make, by name as they are shipped."""
    width = 2 * loaded.config.d_model
    grams: list[Tensor] = [torch.zeros(width, width, dtype=torch.float64) for _ in range(loaded.config.n_layers)]
    for row in rows(loaded, train, N_TRAIN):
        recorder = Recorder()
        logits_of(loaded, row, recorder)
        for n, gram in enumerate(grams):
            path = f"decoder.layers.{n}.self_attn"
            k_and_v = [recorder.tensors[f"{path}.{one}"][0].transpose(0, 1).flatten(1) for one in "kv"]  # (T,d) each
            z = torch.cat(k_and_v, 1)[row[2] :].double()
            gram += z.T @ z
    found = {}
    for n, gram in enumerate(grams):
        found[f"layers.{n}.basis"], found[f"layers.{n}.scales"] = basis_of(gram, loaded.config.d_model)
    return found


@dataclass(frozen=True)
class Written:
    """What a model makes of a file: the mean loss, its choice of each next piece, and its own translations."""

    loss: float
    choices: Tensor
    translations: list[str]


@torch.inference_mode()
def written(loaded: LoadedModel, test: Path, r: int) -> Written:
    model, total, chosen = squeezed(loaded, r) if r < WHOLE else loaded, 0.0, []
    for row in rows(loaded, test, None if loaded.name == TRANSLATOR else N_TEST):
        logits, labels = logits_of(model, row), torch.tensor(row[1][row[2] :])
        total += torch.nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        chosen.append(logits.argmax(-1))
    sentences = references(test, N_TRANSLATED) if loaded.name == TRANSLATOR else ()
    every = torch.cat(chosen)
    return Written(total / len(every), every, [translate(model, one, Greedy()) for one in sentences])


def compared(one: Written, whole: Written) -> dict[str, float]:
    """same: the share of next pieces that are chosen alike; same_sentences: of translations that are the same"""
    found = {
        "loss": round(one.loss, 4),
        "perplexity": round(math.exp(one.loss), 2),
        "same": round((one.choices == whole.choices).double().mean().item(), 4),
    }
    if n := len(whole.translations):
        pairs = zip(one.translations, whole.translations, strict=True)
        found["same_sentences"] = round(sum(a == b for a, b in pairs) / n, 4)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=("gpt-mini", TRANSLATOR))
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    loaded = load_model(arguments.name, device=CPU)
    folder = MODELS / arguments.name
    if not (folder / BASES).exists():
        save_weights(fresh := folder / f"{BASES}.new", bases_of(loaded, arguments.train))
        fresh.rename(folder / BASES)
    file = folder / FILE
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    whole = written(loaded, arguments.test, WHOLE)
    sizes = {"data": arguments.test.name, "tokens": len(whole.choices), "sentences": len(whole.translations)}
    found = sizes | found | {str(WHOLE): compared(whole, whole)}
    for r in SIZES:
        if str(r) not in found:
            found[str(r)] = compared(written(loaded, arguments.test, r), whole)
            print(r, found[str(r)], flush=True)
            file.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
