"""Small models of the family with random weights, ready to run: GPT's form, BERT's, and others on them."""

from dataclasses import replace
from functools import cache

import torch
from torch import nn

from model.anatomy.describe import anatomy_of
from model.build import build_network
from model.config import PRESETS
from model.files.device import Device
from model.files.loaded_model import LoadedModel
from model.files.model_card import About
from model.text.tokenizer import MORE_SPECIALS, SPECIALS, Tokenizer
from tests.small import SENTENCES

SIZES = {"d_model": 42, "n_heads": 3, "n_layers": 2, "d_ff": 53, "max_len": 37}
FAMILY = ("gpt-mini", "bert-mini")


@cache
def small_tokenizer() -> Tokenizer:
    return Tokenizer.train(SENTENCES, 331, (*SPECIALS, *MORE_SPECIALS))


@cache
def small(name: str, **parts: str) -> LoadedModel:
    """The preset of this name made small, with other parts if any are given. All weights are random: at 0 and 1 one
    could stand for another unseen.
    """
    tokenizer = small_tokenizer()
    config = replace(PRESETS[name], vocab_size=tokenizer.vocab_size, **SIZES, **parts)  # type: ignore[arg-type]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(29)
        model = build_network(config).eval().requires_grad_(False)
        for weight_name, weight in model.named_parameters():
            nn.init.normal_(
                weight, mean=1.0 if "norm" in weight_name and weight_name.endswith("weight") else 0.0, std=0.3
            )
    device = Device(torch.device("cpu"), "CPU")
    return LoadedModel(name, config, model, tokenizer, device, About(name, "English", "text"), anatomy_of(model))
