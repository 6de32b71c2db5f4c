"""Train a preset: `python -m training.train PRESET DATA… --valid FILE --out FOLDER`.

Runs unchanged on a CPU, a GPU or several machines (`accelerate launch -m training.train …`). Start the same command
again after a kill: it goes on from the last saved state.
"""

import argparse
import dataclasses
import json
import platform
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from model import checkpoint
from model.build import build_model
from model.config import PRESETS
from model.tokenizer import PAD_ID, Tokenizer
from training.data import NO_VARIATION, Pair, epoch_loader, read_pairs
from training.recipe import RECIPES, Recipe
from training.schedule import learning_rate_factor


class Clock:
    """Where the run stands; accelerate saves and restores it with the rest."""

    def __init__(self) -> None:
        self.step = 0
        self.epoch = 0
        self.batch = 0  # batches of this epoch already used
        self.seconds = 0.0
        self.target_tokens = 0
        self.best_loss = float("inf")

    def state_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)


def batch_loss(
    model: nn.Module, batch: Mapping[str, Tensor], label_smoothing: float, reduction: str = "mean"
) -> Tensor:
    """Cross-entropy of the labels in nats: the mean over tokens that are not padding, or their sum."""
    logits = model(batch["src_ids"], batch["tgt_ids"])
    return nn.functional.cross_entropy(
        logits.float().flatten(0, 1),
        batch["labels"].flatten(),
        ignore_index=PAD_ID,
        label_smoothing=label_smoothing,
        reduction=reduction,
    )


@torch.no_grad()
def validation_loss(
    model: nn.Module, pairs: list[Pair], tokenizer: Tokenizer, max_len: int, accelerator: Accelerator
) -> float:
    """Mean cross-entropy in nats a token, without smoothing, dropout or variation."""
    model.eval()
    total = tokens = 0.0
    for batch in epoch_loader(pairs, tokenizer, 3000, NO_VARIATION, seed=0, epoch=0, max_len=max_len):
        batch = {name: ids.to(accelerator.device) for name, ids in batch.items()}
        with accelerator.autocast():
            total += batch_loss(model, batch, 0.0, "sum").item()
        tokens += (batch["labels"] != PAD_ID).sum().item()
    return total / tokens


def save_state(accelerator: Accelerator, folder: Path) -> None:
    """Save everything a resumed run needs. A kill at any moment leaves either the old state or the new one whole."""
    fresh, old = folder.with_name("state.new"), folder.with_name("state.old")
    if accelerator.is_main_process:
        shutil.rmtree(fresh, ignore_errors=True)
    accelerator.wait_for_everyone()
    accelerator.save_state(str(fresh))
    if accelerator.is_main_process:
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    accelerator.wait_for_everyone()


def find_state(folder: Path) -> Path | None:
    """The newest whole state: `state`, or `state.old` if a kill came between the two renames."""
    return next((p for p in (folder, folder.with_name("state.old")) if p.exists()), None)


def train(
    preset: str, data: list[Path], valid: Path, out: Path, recipe: Recipe, seed: int = 1, save_every: int = 500
) -> dict[str, Any]:
    """Train until `recipe.steps`, keeping in `out` the averaged weights that did best on `valid`.

    Returns: the run's figures, also written to `out`/training.json
    """
    config = PRESETS[preset]
    accelerator = Accelerator(
        mixed_precision=pick_precision(), dataloader_config=DataLoaderConfiguration(even_batches=False)
    )
    set_seed(seed)
    console = Console(quiet=not accelerator.is_main_process)
    out.mkdir(parents=True, exist_ok=True)
    pairs, valid_pairs = read_pairs(data), read_pairs([valid])

    tokenizer_path = out / checkpoint.TOKENIZER
    if accelerator.is_main_process and not tokenizer_path.exists():
        Tokenizer.train((side for pair in pairs for side in pair), config.vocab_size).save(tokenizer_path)
    accelerator.wait_for_everyone()
    tokenizer = checkpoint.load_tokenizer(out)
    config = dataclasses.replace(config, vocab_size=tokenizer.vocab_size)  # little data fills no large vocabulary

    model: nn.Module = build_model(config)
    # A running average of the weights does better than the last weights while the learning rate is still high.
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(recipe.average_decay), device=accelerator.device)
    optimizer: Any = torch.optim.Adam(
        model.parameters(), recipe.peak_learning_rate, betas=(0.9, 0.98), eps=1e-9, fused=True
    )
    model, optimizer = accelerator.prepare(model, optimizer)
    clock = Clock()
    accelerator.register_for_checkpointing(clock, averaged)
    state = out / "state"
    if resumed := find_state(state):
        accelerator.load_state(str(resumed))
        console.print(f"going on from step {clock.step}")

    batches_in_epoch = 1

    def report() -> dict[str, Any]:
        """Validate the averaged weights; keep them if they are the best so far."""
        loss = validation_loss(averaged.module, valid_pairs, tokenizer, config.max_len, accelerator)
        if accelerator.is_main_process and loss < clock.best_loss:
            checkpoint.save(out, config, tokenizer, averaged.module.state_dict())
        clock.best_loss = min(clock.best_loss, loss)
        figures = {
            "preset": preset,
            "steps": clock.step,
            "epochs": round(clock.epoch + clock.batch / max(1, batches_in_epoch), 2),
            "target_tokens": clock.target_tokens,
            "seconds": round(clock.seconds),
            "device": str(accelerator.device),
            "hardware": hardware(),
            "precision": accelerator.mixed_precision,
            "validation_loss": round(loss, 4),
            "recipe": dataclasses.asdict(recipe),
        }
        if accelerator.is_main_process:
            (out / "training.json").write_text(json.dumps(figures, indent=2) + "\n")
        console.print(
            f"step {clock.step}: validation loss {loss:.4f} nats a token, epoch {figures['epochs']}, "
            f"{clock.seconds / 60:.1f} minutes, {clock.target_tokens / clock.seconds:.0f} target tokens a second"
        )
        return figures

    def epoch_batches() -> Iterator[Mapping[str, Tensor]]:
        nonlocal batches_in_epoch
        while True:
            loader = epoch_loader(
                pairs, tokenizer, recipe.batch_tokens, recipe.variation, seed, clock.epoch, config.max_len
            )
            loader = accelerator.prepare_data_loader(loader)
            batches_in_epoch = len(loader)
            yield from accelerator.skip_first_batches(loader, clock.batch) if clock.batch else loader
            clock.epoch, clock.batch = clock.epoch + 1, 0

    figures: dict[str, Any] = {}
    batches = epoch_batches()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("training", total=recipe.steps, completed=clock.step)
        started = time.perf_counter()
        while clock.step < recipe.steps:
            batch = next(batches)
            factor = learning_rate_factor(clock.step, recipe.warmup_steps, recipe.steps, recipe.decay_fraction)
            for group in optimizer.param_groups:
                group["lr"] = recipe.peak_learning_rate * factor
            model.train()
            with accelerator.autocast():
                loss = batch_loss(model, batch, recipe.label_smoothing)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), recipe.max_grad_norm)
            optimizer.step()
            optimizer.zero_grad()
            averaged.update_parameters(accelerator.unwrap_model(model))
            clock.step += 1
            clock.batch += 1
            clock.target_tokens += int((batch["labels"] != PAD_ID).sum()) * accelerator.num_processes
            if clock.step % save_every == 0 or clock.step == recipe.steps:
                clock.seconds += time.perf_counter() - started
                figures = report()
                save_state(accelerator, state)
                started = time.perf_counter()
            if clock.step % 20 == 0:
                progress.update(bar, completed=clock.step, description=f"loss {loss.detach():.3f}")
    return figures


def hardware() -> str:
    """The processor or GPU, in words."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{torch.get_num_threads()} CPU cores ({platform.machine()})"


def pick_precision() -> str:
    """bf16 where the hardware computes it natively, else none."""
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported() else "no"
    return "bf16" if torch.cpu._is_avx512_bf16_supported() else "no"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.train", description=__doc__)
    parser.add_argument("preset", choices=sorted(RECIPES))
    parser.add_argument("data", nargs="+", type=Path, help="files with one `English<TAB>German` a line")
    parser.add_argument(
        "--valid", required=True, type=Path, help="a file of the same form, for choosing the best weights"
    )
    parser.add_argument("--out", required=True, type=Path, help="folder for the model and the state to resume from")
    parser.add_argument("--steps", type=int, help="end of the schedule; default: the recipe's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-every", type=int, default=500, metavar="STEPS", help="validate and save this often")
    arguments = parser.parse_args()
    recipe = RECIPES[arguments.preset]
    if arguments.steps:
        recipe = dataclasses.replace(recipe, steps=arguments.steps)
    train(
        arguments.preset, arguments.data, arguments.valid, arguments.out, recipe, arguments.seed, arguments.save_every
    )


if __name__ == "__main__":
    main()
