"""One task that a text draws, read stop by stop: what is guessed along its hidden rule."""

import zlib
from dataclasses import dataclass

import numpy as np
import torch

from model.files.loaded_model import LoadedModel
from pages.family.learning_without_learning.tasks import Array
from training.loop.in_context import Regression

STOPS = (1, 2, 3, 5, 8, 12, 20, 40)  # pairs that are read
ALONG = np.linspace(-2.5, 2.5, 21)  # the last x: so many times a vector of length 1 that points along the rule


@dataclass(frozen=True)
class Read:
    """A text's own task: pairs x (40,5), y (40); its rule β (5); what the model and ridge guess at each stop (8,21)."""

    x: Array
    y: Array
    beta: Array
    own: Array
    ridge: Array

    @property
    def direction(self) -> Array:
        return np.asarray(self.beta / np.linalg.norm(self.beta))

    @property
    def rule(self) -> Array:
        """What the rule gives along itself, without noise (21)."""
        return np.asarray(np.linalg.norm(self.beta) * ALONG)

    def miss(self, guesses: Array) -> Array:
        """How far guesses (8,21) lie off the rule at each stop, on average (8)."""
        return np.asarray(np.abs(guesses - self.rule).mean(1))


@torch.inference_mode()
def read_task(loaded: LoadedModel, text: str) -> Read:
    """Draw a task that depends on the text alone, and have it read, stop by stop."""
    regression, seed = Regression(), zlib.crc32(text.encode("utf-8", "replace"))
    beta = regression.rules(1, torch.Generator().manual_seed(seed))[0]
    drawn = regression.prompts(1, torch.Generator().manual_seed(seed))
    asked = (torch.tensor(ALONG, dtype=beta.dtype)[:, None] * beta / beta.norm())[:, None]
    own, ridge = [], []
    for n in STOPS:
        x, y = (drawn[name][:, :n].expand(len(ALONG), n, *drawn[name].shape[2:]) for name in "xy")
        prompt = torch.cat([x, asked], 1), torch.cat([y, torch.zeros(len(ALONG), 1)], 1)
        own.append(loaded.model(*(one.to(loaded.device.torch) for one in prompt))[:, -1].cpu().double().numpy())
        ridge.append(regression.ridge(*(one.double().numpy() for one in (x, y, asked[:, 0]))))
    pairs = (drawn[name][0, :-1].double().numpy() for name in "xy")
    return Read(*pairs, beta.double().numpy(), np.stack(own), np.stack(ridge))
