"""The learner's text, read by the app's small GPT and by the LSTM beside it."""

import math

import streamlit as st

from experiments.family.language_models import lstm_losses, read_text
from experiments.training.losses import LOSSES
from model.files.load_special_models import LSTM
from model.files.loaded_model import MODELS, Array, LoadedModel
from model.text.tokenizer import Token
from model.trace import Trace, most_tokens
from pages.family_models import GPT, family_model
from ui import engine
from ui.text import number

LARGE = 999.95  # perplexities from here on are shown without decimals


def gpt() -> LoadedModel:
    """Raises: CheckpointError if it is missing or broken"""
    return family_model(GPT)


def read(trace: Trace) -> Trace:
    """The text as the small GPT reads it, in one pass; its labels are the text's pieces and `<eos>`."""
    return engine.run(read_text, gpt(), trace.text)


def text_pieces(reading: Trace) -> tuple[Token, ...]:
    """The pieces of the text, without the `<eos>` behind them."""
    return reading.labels[:-1]


def losses(reading: Trace) -> Array:
    """Of each piece of the text (T), in nats, by the GPT."""
    return reading.tensors[LOSSES][:-1, 0]


def perplexity(reading: Trace) -> float:
    """Of the text's pieces, without `<eos>`."""
    return math.exp(float(losses(reading).mean()))


def unsure(perplexity: float) -> str:
    """A perplexity as people read it: 12.3, and 177,856."""
    return number(perplexity, 1) if perplexity < LARGE else f"{perplexity:,.0f}"


def has_lstm() -> bool:
    """Whether the LSTM comes with the app."""
    return (MODELS / LSTM).is_dir()


def losses_of_lstm(reading: Trace) -> Array:
    """Of each piece of the text (T), in nats, by the LSTM. Raises: CheckpointError if that is missing or broken"""
    return engine.run(lstm_losses, reading.model, tuple(token.id for token in text_pieces(reading)))


def say_what_is_cut(reading: Trace) -> None:
    """Say how much of the text is left out, if any is."""
    if reading.n_cut:
        st.info(f"This GPT reads at most {most_tokens(reading.model)} pieces: it leaves out your last {reading.n_cut}.")
