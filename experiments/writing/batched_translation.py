"""Several sentences at once: padded to one length, encoded together, and translated greedily side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from model.files.loaded_model import Array, LoadedModel
from model.tap import Recorder, no_tap
from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID, Token
from model.trace import MAX_TOKENS


@dataclass(frozen=True)
class Translated:
    """One sentence of a batch: source pieces (S), the decoder's input pieces (T), tensors by name without padding."""

    src: tuple[Token, ...]
    tgt: tuple[Token, ...]
    tensors: Mapping[str, Array]


@torch.inference_mode()
def translate_together(loaded: LoadedModel, sentences: Sequence[str], keep: tuple[str, ...]) -> list[Translated]:
    """Translate sentences in one batch; of every tapped (B,T,…) value, keep those whose names end so.

    Greedy, as `model.decoding.strategies.Greedy`; a sentence that has ended waits for the others.
    """
    model, tokenizer, device = loaded.model, loaded.tokenizer, loaded.device.torch
    sources = [[*tokenizer.encode(sentence)[:MAX_TOKENS], EOS_ID] for sentence in sentences]
    longest = max(map(len, sources))
    src_ids = torch.tensor([ids + [PAD_ID] * (longest - len(ids)) for ids in sources], device=device)
    recorder, cache = Recorder(), model.new_cache()
    memory = model.encode(src_ids, recorder if keep else no_tap)
    tgt_ids = torch.full((len(sources), 1), SOS_ID, device=device)
    while tgt_ids.size(1) <= MAX_TOKENS and not (tgt_ids == EOS_ID).any(1).all():
        newest = model.decode(tgt_ids, memory, src_ids, cache=cache)[:, -1].argmax(-1)
        tgt_ids = torch.cat([tgt_ids, newest[:, None]], dim=1)
    if keep:
        model.decode(tgt_ids, memory, src_ids, recorder)  # once more, to record what every step saw

    found = []
    for row, (src, ids) in enumerate(zip(sources, tgt_ids.tolist(), strict=True)):
        tgt = ids[: ids.index(EOS_ID)] if EOS_ID in ids else ids[:-1]
        length = {"encoder": len(src), "decoder": len(tgt)}
        tensors = {
            name: value[row, : length[name.partition(".")[0]]].cpu().numpy()
            for name, value in recorder.tensors.items()
            if name.endswith(keep)
        }
        found.append(Translated(tokenizer.tokens(src), tokenizer.tokens(tgt), tensors))
    return found
