"""A small model. Its sizes are distinct, primes where they can be, so that swapped axes cannot hide."""

import torch
from torch import Tensor

from model.anatomy.describe import anatomy_of
from model.build import build_model
from model.config import ModelConfig
from model.families.encoder_decoder import EncoderDecoder
from model.files.device import Device
from model.files.loaded_model import LoadedModel
from model.files.model_card import About
from model.text.tokenizer import SPECIALS, Tokenizer

CONFIG = ModelConfig(vocab_size=101, d_model=42, n_heads=3, n_layers=2, d_ff=53, max_len=37, dropout=0.1)  # d_k = 14
BATCH, SOURCE, TARGET = 5, 11, 7

SENTENCES = (
    "The cat sat on the mat.",
    "The cat didn't cross the street because it was too tired.",
    "A dog sees the cat, and the cat sees a dog!",
    "Tom has 2 dogs and 31 cats.",
    "Die Katze saß auf der Matte.",
    "Ein Hund sieht die Katze, und die Katze sieht einen Hund!",
    "Das Mädchen überquerte die Straße nicht, weil es müde war.",
    "Tom hat 2 Hunde und 31 Katzen.",
)


def random_model() -> EncoderDecoder:
    """In evaluation mode. Biases, γ and β are random too: at 0 and 1 one could stand for the other unseen."""
    model = build_model(CONFIG)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=0.5, std=0.5)
    return model.eval()


def random_ids(*shape: int) -> Tensor:
    """Ids of ordinary pieces: no special tokens."""
    return torch.randint(len(SPECIALS), CONFIG.vocab_size, shape)


def small_loaded(model: EncoderDecoder, tokenizer: Tokenizer) -> LoadedModel:
    """The small model with all that belongs to one, on the CPU."""
    device = Device(torch.device("cpu"), "CPU")
    return LoadedModel("small", CONFIG, model, tokenizer, device, About("small"), anatomy_of(model))
