"""What a task changed of the small BERT, in a file: saved, and joined to the model again."""

import copy
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from model.adapting.fine_tuned import FineTunedReader
from model.families.encoder_only import EncoderOnly
from model.files.checkpoint import CheckpointError
from model.parts.task_heads import learning_in, load_task, save_task
from tests.family import small
from training.loop.finetune_loop import train_only

IDS, SEGMENTS = torch.tensor([[3, 7, 8, 4, 9, 10, 4]]), torch.tensor([[0, 0, 0, 0, 1, 1, 1]])


def network() -> EncoderOnly:
    found = small("bert-mini").model
    assert isinstance(found, EncoderOnly)
    return found


def fine_tuned(head: str, n_classes: int) -> FineTunedReader:
    """As after a training: the last layer and the head are others. Rounded, as they will be kept."""
    model = FineTunedReader(copy.deepcopy(network()), n_classes, head)
    train_only(model, learning_in(model.network, head, 1))
    for weight in model.parameters():
        if weight.requires_grad:
            weight.data.add_(torch.randn_like(weight) * 0.3)
            weight.data.copy_(weight.data.half().float())
    return model.eval()


@pytest.mark.parametrize(("head", "n_classes"), [("text", 2), ("text", 5), ("tokens", 17)])
def test_a_file_holds_what_changed_and_the_model_all_else(head: str, n_classes: int, tmp_path: Path) -> None:
    model, file = fine_tuned(head, n_classes), tmp_path / "task.safetensors"
    save_task(file, model)
    kept = load_file(file)
    assert {weight.dtype for weight in kept.values()} == {torch.float16}
    of_head = {"text": ("network.embedding.matrix.", "network.next_sentence."), "tokens": ("of_tokens.",)}[head]
    begins = ("network.encoder.layers.1.", *of_head)
    assert {begin for begin in begins for name in kept if name.startswith(begin)} == {*begins}
    assert all(name.startswith(begins) for name in kept)
    before = {name: weight.clone() for name, weight in network().state_dict().items()}
    loaded = load_task(network(), file)
    assert torch.allclose(loaded(IDS, SEGMENTS), model(IDS, SEGMENTS), atol=1e-5)
    assert loaded(IDS, SEGMENTS).shape == ((1, n_classes) if head == "text" else (1, 7, n_classes))
    # What did not change is not there twice, and the model stays as it was.
    own = dict(loaded.named_parameters())
    for name, weight in network().named_parameters():
        path = f"network.{name}"
        assert torch.equal(weight, before[name])
        assert (own[path] is weight) == (path not in kept)
    assert not any(weight.requires_grad for weight in own.values())


@pytest.mark.parametrize("fault", ["missing", "damaged", "no head", "unknown", "of another shape"])
def test_a_file_that_cannot_be_read_is_named(fault: str, tmp_path: Path) -> None:
    file = tmp_path / "task.safetensors"
    if fault == "damaged":
        file.write_bytes(b"no weights")
    elif fault != "missing":
        save_task(file, fine_tuned("tokens", 3))
        weights = load_file(file)
        if fault == "no head":
            weights = {name: weight for name, weight in weights.items() if not name.startswith("of_tokens")}
        elif fault == "unknown":
            weights["network.other"] = torch.zeros(3)
        else:
            weights["network.encoder.layers.1.self_attn.w_q.weight"] = torch.zeros(3, 3)
        save_file(weights, file)
    with pytest.raises(CheckpointError, match=r"task\.safetensors"):
        load_task(network(), file)
