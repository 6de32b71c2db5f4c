"""Load a Hugging Face model from a folder.

Weights are read from safetensors files alone, and no code that comes with a model is run. Nothing here uses the network
(hub/downloads.py does).
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

from hub.local_models import (
    NO_MEMORY,
    ModelError,
    Settings,
    check_files,
    check_memory,
    folder_of,
    n_numbers,
    read_config,
    read_generation_config,
    weight_files,
)
from hub.reading_types import Kind, ModelFacts, shortened
from hub.tokenizer_files import check_tokenizer

# The page shows errors and progress; the library need not.
logging.set_verbosity_error()
logging.disable_progress_bar()

MAX_TOKENS = 128  # of a sentence, with its special tokens: more cannot be looked at
MAX_LAYERS = 200  # of a model; the largest in use have 126, and thousands would take minutes to build
MAX_HEADS = 2048  # of all layers together; a model that has more could not be looked at, nor compared in good time
SLACK = 2**24  # numbers that a model may have beyond twice those in its files: position tables, a missing head

# Entries of config.json that are ignored: reading a sentence needs none of them, and they would load, patch or build
# something else.
IGNORED = {
    "attn_implementation", "attribute_map", "auto_map", "distributed_config", "experts_implementation", "fusion_config",
    "id2label", "label2id", "num_labels", "per_layer_config", "problem_type", "sub_configs", "transformers_weights",
}  # fmt: skip
# Entries of generation_config.json that are used: where a text starts and ends, and what it must not contain. How the
# next token is chosen is set in hub/reading.py.
GENERATION = {
    "bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "forced_bos_token_id",
    "forced_eos_token_id", "bad_words_ids", "suppress_tokens", "begin_suppress_tokens", "no_repeat_ngram_size",
    "repetition_penalty",
}  # fmt: skip

# What is wrong where a library fails, whatever it says.
# In what libraries say where memory ran out. Python itself says the last: its own error found no room, either.
NO_ROOM = "allocate memory", "std::bad_alloc", "failed to map", "Cannot allocate", "returned NULL without setting"
CONFIG = "The model's config.json holds something that a model of its type cannot have, so it cannot be built."
TOKENIZER = (
    "The model's tokenizer files are damaged, or of a kind that is not read here. A model that comes with a complete "
    "tokenizer.json can be read."
)
WEIGHTS = "The model's weights do not fit its config.json: they may be those of another model."
FILES = "The model's files do not fit together, so it cannot be opened."
MAX_DETAIL = 160  # characters of what a library says

LOADERS: dict[Kind, Any] = {
    "encoder": AutoModelForMaskedLM,
    "decoder": AutoModelForCausalLM,
    "encoder-decoder": AutoModelForSeq2SeqLM,
}


@dataclass(frozen=True)
class OpenModel:
    """A loaded model, shared by all threads and never changed.

    missing: names of weights of its head that are not in its files, so they are random and nothing of theirs is shown
    """

    name: str
    kind: Kind
    model: Any
    tokenizer: PreTrainedTokenizerBase
    missing: frozenset[str]

    @property
    def predicts(self) -> bool:
        """See ModelFacts."""
        return not self.missing

    @property
    def facts(self) -> ModelFacts:
        return ModelFacts(
            self.kind,
            str(self.model.config.model_type),
            sum(p.numel() for name, p in self.model.named_parameters() if name not in self.missing),
            self.longest,
            None if self.tokenizer.mask_token_id is None else shortened(str(self.tokenizer.mask_token)),
            self.predicts,
        )

    @functools.cached_property
    def longest(self) -> int:
        """How many tokens the model can read at most, MAX_TOKENS or fewer."""
        config = self.model.config
        positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        # RoBERTa and its relatives count positions from 2; XLNet, which has no end of them, says −1.
        most = positions - 2 if positions and positions > 0 else MAX_TOKENS
        return int(min(MAX_TOKENS, self.tokenizer.model_max_length, most))


def kind_of(config: dict[str, Any]) -> Kind:
    """Which of the three families a configuration belongs to.

    Raises: ModelError if it is not a language model that the app can show
    """
    model_type = str(config.get("model_type", ""))
    architectures = config.get("architectures")
    architecture = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
    if model_type in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES and config.get("is_encoder_decoder", True):
        return "encoder-decoder"
    causal, masked = (
        model_type in names for names in (MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES)
    )
    goes_on = architecture.endswith(("ForCausalLM", "LMHeadModel")) and not architecture.endswith("WithLMHeadModel")
    if causal and (not masked or goes_on):  # XLMWithLMHeadModel and its relatives guess covered pieces
        return "decoder"
    if masked:
        return "encoder"
    raise ModelError(f"This is not a language model that the app can show: its type is {model_type[:40]!r}.")


def load(name: str, settings: Settings, make_room: Callable[[int], None] | None = None) -> OpenModel:
    """Load a model from its folder under the root. Everything that can be checked is checked before weights are read.

    Args:   make_room: called with the bytes that the weights will take, when nothing else is wrong; it may raise
            ModelError. By default it raises if so much memory is not free
    Raises: ModelError, one sentence that says what is wrong
    """
    folder = folder_of(name, settings.root)
    if folder is None:
        raise ModelError(f"There is no model {name!r} among those that the app may open.")
    try:
        return _load(name, folder, settings.root, make_room or check_memory)
    except Exception as error:  # the library raises many kinds of errors for files that do not fit together
        told = model_error(error, FILES)
        # A visitor need not know where the folder is.
        raise ModelError(*(text.replace(str(folder), name) for text in (str(told), told.detail))) from error


def _load(name: str, folder: Path, root: Path, make_room: Callable[[int], None]) -> OpenModel:
    check_files(folder, root)
    raw_config = read_config(folder)
    kind = kind_of(raw_config)
    files = weight_files(folder)
    n_held = n_numbers(files)
    check_tokenizer(folder, root)
    tokenizer, plan = _prepare(folder, kind, raw_config, n_held)
    generation = {
        key: value for key, value in (raw_config | read_generation_config(folder)).items() if key in GENERATION
    }
    make_room(4 * n_held)
    model_class: Any = type(plan)
    with failing_as(WEIGHTS):
        model, loading = model_class.from_pretrained(
            None,  # no folder, so that the library opens no other file
            config=plan.config,
            state_dict={key: tensor for file in files for key, tensor in load_file(file).items()},
            attn_implementation="eager",  # the other implementations do not return attention weights
            dtype=torch.float32,
            generation_config=GenerationConfig(**generation),
            output_loading_info=True,
        )
    missing = frozenset(loading["missing_keys"])
    if inside := sorted(key for key in missing if not _is_of_head(key, model)):
        raise ModelError(f"The weights of {len(inside)} parts of the model are missing, {inside[0]} among them.")
    opened = OpenModel(name, kind, model.eval().requires_grad_(False), tokenizer, missing)
    if opened.longest < 1:
        raise ModelError("According to its files, the model can read no tokens at all.")
    return opened


def _is_of_head(key: str, model: PreTrainedModel) -> bool:
    """Whether a weight, by its name, belongs to what turns vectors into predictions: a model goes without it."""
    if hasattr(model, model.base_model_prefix):
        return not key.startswith(f"{model.base_model_prefix}.")
    # T5 and its relatives name a base model and have none: their stacks stand beside the head.
    head = model.get_output_embeddings()
    return any(module is head and key.startswith(f"{name}.") for name, module in model.named_modules())


def _prepare(
    folder: Path, kind: Kind, raw_config: dict[str, Any], n_held: int
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """The tokenizer, and the model without weights.

    Args:   n_held: how many numbers the weight files hold
    Raises: ModelError for what the app does not read; any exception for files that do not fit together
    """
    if "quantization_config" in raw_config:
        raise ModelError("The model's weights are quantised, and the app does not read such weights.")
    kept = {key: value for key, value in raw_config.items() if key not in IGNORED and not key.startswith("_")}
    with failing_as(CONFIG):
        config = CONFIG_MAPPING[raw_config["model_type"]].from_dict(kept)
    n_layers = [value for key, value in vars(config).items() if "layer" in key and isinstance(value, int)]
    if max(n_layers, default=0) > MAX_LAYERS or getattr(config, "num_hidden_layers", 1) < 1:
        raise ModelError(f"The model's config.json asks for a number of layers that is not between 1 and {MAX_LAYERS}.")
    n_heads = getattr(config, "num_attention_heads", None)
    if isinstance(n_heads, int) and n_heads * max(n_layers, default=1) > MAX_HEADS:
        raise ModelError(f"The model has more than {MAX_HEADS} heads of attention, more than can be looked at here.")
    with failing_as(CONFIG), torch.device("meta"):  # shapes without numbers, which takes no memory
        plan = LOADERS[kind].from_config(config)
    n_planned = sum(p.numel() for p in plan.parameters())
    if n_planned > 2 * n_held + SLACK or n_held > 4 * n_planned + SLACK:
        raise ModelError(
            f"The model's config.json asks for {n_planned:,} numbers and its weight files hold {n_held:,}, so they do "
            "not belong together."
        )
    with failing_as(TOKENIZER):
        tokenizer = AutoTokenizer.from_pretrained(folder, config=config, local_files_only=True, trust_remote_code=False)
    if not isinstance(tokenizer, PreTrainedTokenizerBase) or not len(tokenizer):
        raise ModelError("The folder holds no tokenizer.")
    return tokenizer, plan


@contextlib.contextmanager
def failing_as(sentence: str) -> Iterator[None]:
    """Whatever a library raises inside is told in this sentence. Raises: ModelError"""
    try:
        yield
    except Exception as error:
        raise model_error(error, sentence) from error


def model_error(error: BaseException, sentence: str) -> ModelError:
    """An error of a library in a sentence for the visitor; the first line of what the library says is its detail."""
    if isinstance(error, ModelError):
        return error
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in NO_ROOM):
        return ModelError(NO_MEMORY)
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return ModelError(sentence, f"{type(error).__name__}: {line}"[:MAX_DETAIL])
