"""Three programs that run the same translator: this project's own, `transformers` and CTranslate2.

The last two get the exported model (`hub.export`). All three take text and return text, and search alike: in one of
the ways that `hub.export.agree` compares, by its name there.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import ctranslate2
import torch
from ctranslate2.converters.transformers import BartLoader
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from experiments.writing.batched_translation import translate_together
from hub.export.agree import DECODINGS
from hub.export.folder import export
from model.decoding.strategies import Greedy, NextToken, decoding_steps
from model.files.device import Device
from model.files.loaded_model import LoadedModel, load_folder
from model.tap import Recorder, no_tap
from model.trace import MAX_TOKENS
from model.translate import translate

BEAMS = {"greedy": 1, "beam 4": 4}  # what CTranslate2 is asked for in each way of searching

Ids = Sequence[int]


class Engine(Protocol):
    """What each program is asked for."""

    name: str

    def translate(self, sentence: str, search: str) -> str:
        """One sentence."""

    def translate_together(self, sentences: Sequence[str]) -> list[str]:
        """All sentences at once, greedily, in such batches as suit the program."""

    def write(self, src: Ids, n_tokens: int, cached: bool) -> None:
        """Exactly so many tokens of a translation, with a key-value cache or without."""


class Here:
    """This project: the code that its lessons show."""

    name = "here"

    def __init__(self, device: Device) -> None:
        self.loaded: LoadedModel = load_folder(device=device)

    def translate(self, sentence: str, search: str) -> str:
        return translate(self.loaded, sentence, DECODINGS[search][0])

    def translate_together(self, sentences: Sequence[str]) -> list[str]:
        return translate_together(self.loaded, sentences)

    @torch.inference_mode()
    def write(self, src: Ids, n_tokens: int, cached: bool) -> None:
        """Differs: which tokens are written is given; each is computed and looked at all the same."""
        model, src_ids = self.loaded.model, self.tensor(src)
        given = Greedy(n_tokens, prefix=tuple(src[:1]) * n_tokens)
        for _ in decoding_steps(NextToken(model, model.encode(src_ids), cached=cached), given):
            pass

    @torch.inference_mode()
    def read(self, src: Ids, tgt: Ids, recorded: bool) -> Tensor:
        """Logits of one pass over a sentence and its translation; every intermediate value is recorded, or none."""
        logits: Tensor = self.loaded.model(self.tensor(src), self.tensor(tgt), Recorder() if recorded else no_tap)
        return logits

    def tensor(self, ids: Ids) -> Tensor:
        return torch.tensor([list(ids)], device=self.loaded.device.torch)


class Transformers:
    """The exported model in transformers; `attention` is its name for one way to compute it."""

    name = "transformers"

    def __init__(self, folder: Path, device: Device, attention: str = "sdpa") -> None:
        self.device = device.torch
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation=attention)
        self.model: Any = model.eval().to(self.device)

    def translate(self, sentence: str, search: str) -> str:
        inputs = self.tokenizer(sentence, return_tensors="pt").to(self.device)
        return self.text(self._generate(**inputs, **DECODINGS[search][1])[0])

    def translate_together(self, sentences: Sequence[str]) -> list[str]:
        inputs = self.tokenizer(list(sentences), return_tensors="pt", padding=True).to(self.device)
        return [self.text(ids) for ids in self._generate(**inputs, **DECODINGS["greedy"][1])]

    def write(self, src: Ids, n_tokens: int, cached: bool) -> None:
        limits = {"min_new_tokens": n_tokens, "max_new_tokens": n_tokens}
        self._generate(input_ids=self.tensor(src), num_beams=1, use_cache=cached, **limits)

    @torch.inference_mode()
    def read(self, src: Ids, tgt: Ids) -> Any:
        """One pass over a sentence and its translation that returns all attention weights and hidden states."""
        ids = {"input_ids": self.tensor(src), "decoder_input_ids": self.tensor(tgt)}
        return self.model(**ids, output_attentions=True, output_hidden_states=True, use_cache=False)

    @torch.inference_mode()
    def _generate(self, **settings: Any) -> Tensor:
        found: Tensor = self.model.generate(**settings, do_sample=False)
        return found

    def text(self, ids: Tensor) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=True)).strip()

    def tensor(self, ids: Ids) -> Tensor:
        return torch.tensor([list(ids)], device=self.device)


class Loader(BartLoader):
    """How CTranslate2 is to read the exported model.

    Its own loader for Marian takes the last row of the vocabulary for `<pad>` and drops it, and begins a translation
    with a row of zeros; here the last row is a token like any other, and a translation begins with `<sos>`.
    """

    architecture_name = "MarianMTModel"

    def get_model_spec(self, model: Any) -> Any:
        model.config.normalize_embedding = False
        return super().get_model_spec(model)

    def set_config(self, config: Any, model: Any, tokenizer: Any) -> None:
        super().set_config(config, model, tokenizer)
        config.unk_token = tokenizer.pad_token  # every text has tokens, so that none is unknown


class CTranslate2:
    """The exported model in CTranslate2, in fp32, on the CPU."""

    name = "CTranslate2"

    def __init__(self, exported: Transformers, folder: Path) -> None:
        self.tokenizer = exported.tokenizer
        spec = Loader()(exported.model, self.tokenizer)
        spec.validate()
        spec.optimize(quantization=None)
        folder.mkdir()
        spec.save(str(folder))
        self.translator = ctranslate2.Translator(str(folder), "cpu", compute_type="float32", intra_threads=1)

    def translate(self, sentence: str, search: str) -> str:
        return self._translate([sentence], BEAMS[search])[0]

    def translate_together(self, sentences: Sequence[str]) -> list[str]:
        return self._translate(sentences, 1)

    def write(self, src: Ids, n_tokens: int, cached: bool) -> None:
        tokens = [self.tokenizer.convert_ids_to_tokens(list(src))]
        self.translator.translate_batch(
            tokens, beam_size=1, min_decoding_length=n_tokens, max_decoding_length=n_tokens, max_input_length=0
        )

    def _translate(self, sentences: Sequence[str], beam: int) -> list[str]:
        tokens = [self.tokenizer.convert_ids_to_tokens(ids) for ids in self.tokenizer(list(sentences)).input_ids]
        results = self.translator.translate_batch(
            tokens, beam_size=beam, length_penalty=0.0, max_decoding_length=MAX_TOKENS
        )
        written = [self.tokenizer.convert_tokens_to_ids(result.hypotheses[0]) for result in results]
        return [str(self.tokenizer.decode(ids, skip_special_tokens=True)).strip() for ids in written]


def exported(folder: Path) -> Path:
    """The shipped translator, written for transformers into a folder."""
    export(folder / "exported")
    return folder / "exported"
