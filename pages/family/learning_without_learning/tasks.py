"""The tasks of the lesson: what is drawn, what the Transformer and four other ways guess, and the controls."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model.files.load_special_models import loaded_in_context, trace_prompt
from model.files.loaded_model import LoadedModel
from model.trace import Trace
from training.loop.in_context import Regression, least_squares, nearest_neighbours, zero
from ui import engine
from ui.controls.control import Choice, Number, Stops

Array = NDArray[np.float64]

# Of 64 tasks the ratio to ridge's error would be off by a tenth, and more than the effect itself.
N_TASKS, MOST = 512, 40  # tasks in a draw; examples in a prompt
CHUNK = 32  # tasks that go through the model at once: of more, the numbers no longer fit near the processor
TRAINED = Regression().sigma
TRANSFORMER, RIDGE, LEAST, NEAREST, ZERO = "Transformer", "ridge", "least squares", "3 nearest neighbours", "always 0"
EXAMPLES = Number("Examples", "icl_examples", 1, MOST, 10)
SIGMA = Stops(f"Noise σ (in training: {TRAINED:g})", "icl_noise", ("0.1", "0.25", "0.5", "1", "2"), default="0.5")
DRAW = Choice("Draw of the tasks", "icl_draw", (1, 2, 3, 4, 5))


@dataclass(frozen=True)
class Guesses:
    """The answers y (B,40) of B tasks with 1 to 40 examples before them, and what each way guesses for them."""

    y: Array
    by: Mapping[str, Array]

    def errors(self, name: str) -> Array:
        """Mean squared error by the number of examples (40)."""
        return np.asarray(((self.by[name] - self.y) ** 2).mean(0))

    def apart(self, name: str, n: int) -> float:
        """How far the guesses of a way are from ridge's with n examples: the mean squared difference."""
        return float(((self.by[name] - self.by[RIDGE])[:, n - 1] ** 2).mean())

    def ratio(self, n: int) -> float:
        """The Transformer's error with n examples, ridge's being 1."""
        return float(self.errors(TRANSFORMER)[n - 1] / self.errors(RIDGE)[n - 1])


def prompts(regression: Regression, draw: int) -> dict[str, torch.Tensor]:
    """x (B,41,5) and y (B,41) of a draw."""
    return regression.prompts(N_TASKS, torch.Generator().manual_seed(draw))


@torch.inference_mode()
def all_guesses(loaded: LoadedModel, regression: Regression, draw: int) -> Guesses:
    """What everyone guesses in the tasks of a draw. No weight changes, and no two tasks meet."""
    drawn = prompts(regression, draw)
    network = loaded.model
    parts = zip(drawn["x"].split(CHUNK), drawn["y"].split(CHUNK), strict=True)
    read = torch.cat([network(x.to(loaded.device.torch), y.to(loaded.device.torch)).cpu() for x, y in parts])
    x, y = (drawn[name].double().numpy() for name in "xy")
    ways = {RIDGE: regression.ridge, LEAST: least_squares, NEAREST: nearest_neighbours, ZERO: zero}
    others = {
        name: np.stack([guess(x[:, :n], y[:, :n], x[:, n]) for n in range(1, MOST + 1)], axis=1)
        for name, guess in ways.items()
    }
    return Guesses(y[:, 1:], {TRANSFORMER: read[:, 1:].double().numpy(), **others})


def guesses_of(regression: Regression, draw: int) -> Guesses:
    """Those of a draw, remembered. Raises: CheckpointError"""
    return engine.run(all_guesses, loaded_in_context(), regression, draw)


def chosen() -> Regression:
    """How the tasks are drawn, by the controls of See."""
    return Regression(sigma=float(SIGMA.value()))


def first_prompt(loaded: LoadedModel, regression: Regression, draw: int) -> Trace:
    drawn = prompts(regression, draw)
    return trace_prompt(loaded, drawn["x"][0], drawn["y"][0], f"task 1 of draw {draw}, σ = {regression.sigma:g}")


def first_task() -> Trace:
    """The first task of the chosen draw, read by the model. Raises: CheckpointError"""
    return engine.run(first_prompt, loaded_in_context(), chosen(), int(DRAW.value()))


def numbered(letter: str, n: int) -> str:
    """x₁, y₁₂ …"""
    return letter + str(n).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def name_of(row: int) -> str:
    """What a row of the model stands for: x₁, y₁, x₂ …"""
    return numbered("xy"[row % 2], row // 2 + 1)
