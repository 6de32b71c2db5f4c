"""What training makes small: the cross-entropy of each right next token."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from model.parts.experts import balance_loss
from model.text.tokenizer import PAD_ID
from training.loop.updates import ONE_DEVICE, Batch, Machinery


def batch_loss(
    model: nn.Module, batch: Batch, label_smoothing: float, reduction: str = "mean", balance: float = 0.0
) -> Tensor:
    """Cross-entropy of the labels in nats: the mean over tokens that are not padding, or their "sum".

    balance: how much counts what is added for experts that do unequal shares of the work, in each layer

    Source: Vaswani et al. 2017, §5.4 (label smoothing ε); Szegedy et al. 2016, §7: the right token counts 1 − ε, and ε
            is shared by all tokens alike
    """
    routing = Routing()
    logits = model(batch["src_ids"], batch["tgt_ids"], *([routing] if balance else []))
    loss = nn.functional.cross_entropy(
        logits.float().flatten(0, 1),
        batch["labels"].flatten(),
        ignore_index=PAD_ID,
        label_smoothing=label_smoothing,
        reduction=reduction,
    )
    return loss + balance * routing.imbalance(batch) if balance else loss


class Routing:
    """A tap that keeps whom the rows ask, in each layer that has experts."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if name.endswith((".shares", ".gates")):
            self.tensors[name] = value
        return value

    def imbalance(self, batch: Batch) -> Tensor:
        """The sum over all layers of `balance_loss`; rows of padding do not count."""
        total = torch.zeros(())
        for name, shares in self.tensors.items():
            if name.endswith(".shares"):
                rows = batch["src_ids" if name.startswith("encoder.") else "tgt_ids"] != PAD_ID
                total = total + balance_loss(shares[rows], self.tensors[name.replace(".shares", ".gates")][rows])
        return total


@torch.no_grad()
def validation_loss(model: nn.Module, batches: Iterable[Batch], machinery: Machinery = ONE_DEVICE) -> float:
    """Mean cross-entropy in nats a token over all batches, without smoothing and dropout; leaves the model in eval."""
    model.eval()
    device = next(model.parameters()).device
    total = tokens = 0.0
    for batch in batches:
        batch = {name: ids.to(device) for name, ids in batch.items()}
        with machinery.autocast():
            total += batch_loss(model, batch, 0.0, "sum").item()
        tokens += (batch["labels"] != PAD_ID).sum().item()
    return total / tokens
