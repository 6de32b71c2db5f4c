"""Does the exported model translate like ours? `python -m hub.export.agree FILE.tsv` translates with both.

Greedy decoding is the same in both. Both beam searches use four beams, rank by the plain sum of log-probabilities
(length penalty 0, because the two divide by different powers of the length) and stop at four finished sentences
(`early_stopping`). transformers runs the exported model with its default, fused attention. It prints JSON in its last
line: how many translations are the same, and the largest difference of a logit.
"""

import argparse
import json
import tempfile
from pathlib import Path

import torch
from rich.progress import track
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedModel

from hub.export.folder import export
from model.decoding.strategies import Beam, Decoding, Greedy
from model.files.loaded_model import LoadedModel, load_folder
from model.text.tokenizer import SOS_ID
from model.trace import MAX_TOKENS, trace
from model.translate import translate

DECODINGS: dict[str, tuple[Decoding, dict[str, object]]] = {
    "greedy": (Greedy(MAX_TOKENS), {"num_beams": 1}),
    "beam 4": (
        Beam(4, length_penalty=0.0, max_steps=MAX_TOKENS),
        {"num_beams": 4, "length_penalty": 0.0, "early_stopping": True},
    ),
}


def sentences_of(file: Path, limit: int) -> list[str]:
    """The first different sentences in the first column of a file."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(line.partition("\t")[0] for line in lines if line.strip()))[:limit]


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hub.export.agree", description=__doc__)
    parser.add_argument("file", type=Path, help="sentences to translate, in the first column")
    parser.add_argument("--limit", type=int, default=200)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    ours = load_folder()
    with tempfile.TemporaryDirectory() as folder:
        export(Path(folder) / "exported")
        theirs = AutoModelForSeq2SeqLM.from_pretrained(Path(folder) / "exported").eval()
        tokenizer = AutoTokenizer.from_pretrained(Path(folder) / "exported")
    sentences = sentences_of(arguments.file, arguments.limit)
    same = dict.fromkeys(DECODINGS, 0)
    largest = 0.0
    for sentence in track(sentences, "Translating with both"):
        traced = trace(ours, sentence)
        inputs = tokenizer(sentence, return_tensors="pt")
        tgt = torch.tensor([[token.id for token in traced.tgt]])
        logits = theirs(**inputs, decoder_input_ids=tgt).logits[0]
        largest = max(largest, float((logits - torch.tensor(traced.tensors["logits"])).abs().max()))
        for name, (decoding, settings) in DECODINGS.items():
            ids = theirs.generate(**inputs, **settings, do_sample=False)
            written = str(tokenizer.decode(ids[0], skip_special_tokens=True)).strip()
            same[name] += written == translate(ours, sentence, decoding)
    print(
        json.dumps(
            {
                "sentences": len(sentences),
                "same": same,
                "largest_logit_difference": largest,
                "in_float64": exact_difference(
                    ours, theirs, [tokenizer(sentence).input_ids for sentence in sentences[:20]]
                ),
            }
        )
    )


def exact_difference(ours: LoadedModel, theirs: PreTrainedModel, sources: list[list[int]]) -> float:
    """Largest difference of a logit when both compute in float64, where rounding hardly plays a part."""
    ours.model.double()
    theirs.double()
    largest = 0.0
    for ids in sources:
        src, tgt = torch.tensor([ids]), torch.tensor([[SOS_ID, *ids[:-1]]])  # any tokens will do
        difference = ours.model(src, tgt) - theirs(input_ids=src, decoder_input_ids=tgt).logits
        largest = max(largest, float(difference.abs().max()))
    return largest


if __name__ == "__main__":
    main()
