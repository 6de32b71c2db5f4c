"""A Hugging Face model from a folder.

Only safetensors are read and no code of a model is run. Nothing here reaches the network (see hub/downloads.py).
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file
from transformers import (
    CONFIG_MAPPING,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)
from transformers.utils import logging

from hub.folders import (
    ModelError,
    Settings,
    check_files,
    config_of,
    folder_of,
    free_memory,
    n_numbers,
    weight_files,
    writing_of,
)
from hub.tokenizer_files import check_tokenizer

# What is wrong is said to the visitor, and progress is shown on the page.
logging.set_verbosity_error()
logging.disable_progress_bar()

Kind = Literal["encoder", "decoder", "encoder-decoder"]

MAX_TOKENS = 128  # of a sentence, special tokens among them: what one can still look at
MAX_LAYERS = 200  # of a model; the largest in use have 126, and thousands would take minutes to lay out
SLACK = 2**24  # numbers that a model may have beyond twice those in its files: fixed tables of places, a missing head

# Of config.json: what has nothing to do with reading a sentence and would load, patch or build something else.
UNREAD = {
    "attn_implementation", "attribute_map", "auto_map", "distributed_config", "experts_implementation", "fusion_config",
    "id2label", "label2id", "num_labels", "per_layer_config", "problem_type", "sub_configs", "transformers_weights",
}  # fmt: skip
# Of generation_config.json: where a text starts and ends, and what must not stand in it. How to go on is set here.
WRITING = {
    "bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "forced_bos_token_id",
    "forced_eos_token_id", "bad_words_ids", "suppress_tokens", "begin_suppress_tokens", "no_repeat_ngram_size",
    "repetition_penalty",
}  # fmt: skip

LOADERS: dict[Kind, Any] = {
    "encoder": AutoModelForMaskedLM,
    "decoder": AutoModelForCausalLM,
    "encoder-decoder": AutoModelForSeq2SeqLM,
}


@dataclass(frozen=True)
class OpenModel:
    """A loaded model. Shared by all threads and never changed.

    predicts: whether the file holds the weights of the head that turns vectors into words
    """

    name: str
    kind: Kind
    model: Any
    tokenizer: PreTrainedTokenizerBase
    predicts: bool

    @property
    def n_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    @functools.cached_property
    def longest(self) -> int:
        """Tokens that the model takes at most, as far as this app shows them."""
        config = self.model.config
        places = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        # RoBERTa and its kin count places from 2.
        return int(min(MAX_TOKENS, self.tokenizer.model_max_length, places - 2 if places else MAX_TOKENS))


def kind_of(config: dict[str, Any]) -> Kind:
    """Which of the three families a configuration belongs to.

    Raises: ModelError if it is no language model that this app knows
    """
    model_type = str(config.get("model_type", ""))
    architectures = config.get("architectures")
    architecture = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
    if model_type in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES and config.get("is_encoder_decoder", True):
        return "encoder-decoder"
    causal, masked = (
        model_type in names for names in (MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES)
    )
    if causal and (not masked or architecture.endswith(("ForCausalLM", "LMHeadModel"))):
        return "decoder"
    if masked:
        return "encoder"
    raise ModelError(f"This is no language model that the app can show: its type is {model_type[:40]!r}.")


def load(name: str, settings: Settings, make_room: Callable[[int], None] | None = None) -> OpenModel:
    """Load a model from its folder under the root.

    What can be checked is checked before any weight is read.

    Args:   make_room: called with the bytes that the weights will take, once all else is known to be sound; it may
            raise ModelError. By default what is free is all that there is
    Raises: ModelError, one sentence, for whatever is wrong with it
    """
    folder = folder_of(name, settings.root)
    if folder is None:
        raise ModelError(f"There is no model {name!r} among those that the app may open.")
    try:
        return _load(name, folder, settings.root, make_room or check_memory)
    except ModelError:
        raise
    except Exception as error:  # the library raises all kinds of errors for files that do not fit together
        told = first_line(error).replace(str(folder), name)  # where the models lie is nobody's business
        raise ModelError(f"The model's files do not fit together: {told}") from error


def _load(name: str, folder: Path, root: Path, make_room: Callable[[int], None]) -> OpenModel:
    check_files(folder, root)
    described = config_of(folder)
    kind = kind_of(described)
    files = weight_files(folder)
    held = n_numbers(files)
    check_tokenizer(folder, root)
    tokenizer, plan = _prepare(folder, kind, described, held)
    writing = {key: value for key, value in (described | writing_of(folder)).items() if key in WRITING}
    make_room(4 * held)
    model_class: Any = type(plan)
    model, loading = model_class.from_pretrained(
        None,  # no folder: nothing but these files is opened
        config=plan.config,
        state_dict={key: tensor for file in files for key, tensor in load_file(file).items()},
        attn_implementation="eager",  # the others do not hand out their weights
        dtype=torch.float32,
        generation_config=GenerationConfig(**writing),
        output_loading_info=True,
    )
    missing = [key for key in loading["missing_keys"] if key.startswith(f"{model.base_model_prefix}.")]
    if missing:
        raise ModelError(f"The weights of {len(missing)} parts of the model are missing, {missing[0]} among them.")
    opened = OpenModel(name, kind, model.eval().requires_grad_(False), tokenizer, not loading["missing_keys"])
    if opened.longest < 1:
        raise ModelError("The model's files say that it takes no tokens at all.")
    return opened


def _prepare(
    folder: Path, kind: Kind, described: dict[str, Any], held: int
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Tokenizer, and the model without any weights.

    Args:   held: numbers that the weight files hold
    Raises: ModelError for what the app does not read; anything for files that do not fit together
    """
    if "quantization_config" in described:
        raise ModelError("The model's weights are quantised, which this app does not read.")
    config = CONFIG_MAPPING[described["model_type"]].from_dict(
        {key: value for key, value in described.items() if key not in UNREAD and not key.startswith("_")}
    )
    layers = [value for key, value in vars(config).items() if "layer" in key and isinstance(value, int)]
    if max(layers, default=0) > MAX_LAYERS or getattr(config, "num_hidden_layers", 1) < 1:
        raise ModelError(f"The model's config.json asks for a number of layers that is not between 1 and {MAX_LAYERS}.")
    with torch.device("meta"):  # shapes without numbers
        plan = LOADERS[kind].from_config(config)
    n_planned = sum(p.numel() for p in plan.parameters())
    if n_planned > 2 * held + SLACK:
        raise ModelError(
            f"The model's config.json asks for {n_planned:,} numbers and its weights hold {held:,}, so they do not "
            "belong together."
        )
    tokenizer = AutoTokenizer.from_pretrained(folder, config=config, local_files_only=True, trust_remote_code=False)
    if not isinstance(tokenizer, PreTrainedTokenizerBase) or not len(tokenizer):
        raise ModelError("The folder holds no tokenizer.")
    return tokenizer, plan


def first_line(error: Exception) -> str:
    """What a library says is wrong, short enough for a sentence."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:160]


def check_memory(needed: int, leaving: int = 0) -> None:
    """Args: leaving: bytes that could be freed

    Raises: ModelError if so many bytes are not to be had
    """
    free = free_memory() + leaving
    if needed > free:
        raise ModelError(
            f"The model needs {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free; choose a smaller one."
        )
