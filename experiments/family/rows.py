"""A GPT asked in its own way: texts and marks stand in one row, and a head reads the state of the last mark."""

from dataclasses import replace

import torch

from model.adapting.fine_tuned import FineTunedWriter
from model.adapting.row_tasks import file_of, load_row_task
from model.anatomy.structure import Made
from model.families.decoder_only import DecoderOnly
from model.files.loaded_model import LoadedModel
from model.kept import kept
from model.parts.masks import causal_mask
from model.tap import Recorder
from model.trace import Trace

READ, SCORES, LOOKS = "last_states", "scores", "looks"  # the tensors of a trace

Ids = tuple[int, ...]


@kept
def fine_tuned(loaded: LoadedModel, task: str) -> FineTunedWriter:
    """Raises: CheckpointError, naming the file and the repair"""
    assert isinstance(loaded.model, DecoderOnly)
    return load_row_task(loaded.model, file_of(task))


@torch.inference_mode()
def asked(loaded: LoadedModel, task: str, rows: tuple[Ids, ...]) -> Trace[FineTunedWriter]:
    """Rows of the same length (R,T) through a GPT that learned a task.

    Returns: a trace with the last state of each row, last_states (R,d_model); what the head makes of it, scores
             (R,classes); and how much the last mark looks at each token in the last layer, looks (R,T), on average over
             the heads
    Source:  Radford et al. 2018, §3.2 and §3.3, Figure 1. Differs: GPT itself is frozen, and low-rank matrices learn
             beside its own (Hu et al. 2021); it reads [SEP] between two texts and <eos> at the end, no new marks
    """
    model, recorder = fine_tuned(loaded, task), Recorder()
    ids = torch.tensor(rows, device=loaded.device.torch)
    network = model.network
    assert isinstance(network, DecoderOnly)
    states = network.decoder(network.embedding(ids), causal_mask(ids.size(1), ids.device), tap=recorder)
    last = f"layers.{len(network.decoder.layers) - 1}.self_attn.weights"
    scores = model.head(states[:, -1])
    found = {READ: states[:, -1], SCORES: scores, LOOKS: recorder.tensors[last].mean(1)[:, -1]}
    made = {
        READ: Made("given", (), (), ("rows", "d_model")),
        SCORES: Made("linear", (READ,), ("classifier.weight", "classifier.bias"), ("rows", "classes")),
    }
    anatomy = replace(loaded.anatomy, tensors=made)
    own = LoadedModel(loaded.name, loaded.config, model, loaded.tokenizer, loaded.device, loaded.about, anatomy)
    tensors = {name: value.cpu().numpy() for name, value in found.items()}
    return Trace(own, "", 0, (), (), (), tensors, (), "", True)
