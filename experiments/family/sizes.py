"""How many numbers an encoder alone learns, by its measures."""

from model.config import ModelConfig


def counted(of: ModelConfig) -> dict[str, int]:
    """How many numbers a BERT or an ALBERT learns, by where they stand.

    Source: Devlin et al. 2018 (BERT), §3; Lan et al. 2019 (ALBERT), §3.1. Differs: attention has no biases
    """
    v, h, e = of.vocab_size, of.d_model, of.d_embedding or of.d_model
    attention, network, norms = 4 * h * h, 2 * h * of.d_ff + of.d_ff + h, 4 * h
    heads = (h * e + e + 2 * e + v) + (h * h + h + 2 * h + 2)  # for blanks, and for pairs
    return {
        "layers": (1 if of.shares_layers else of.n_layers) * (attention + network + norms),
        "table of pieces": v * e,
        "widening": (e * h + h) * bool(of.d_embedding),
        "all else": (of.max_len + 4) * e + heads,  # 4: two segments, and the norm's scale and shift
    }


def total(of: ModelConfig) -> int:
    return sum(counted(of).values())
