"""Do the exported GPT and BERT compute what ours do? `python -m hub.export.agree_family FILE.txt` asks both.

From each line of the file gpt-mini gets the first words and goes on writing, greedily; bert-mini reads the line.
transformers runs the exported models with its default, fused attention. It prints JSON: for how many lines the writing
is the same, and the largest difference of a logit.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoModelForPreTraining, AutoTokenizer

from hub.export.folder import export
from hub.open_models import FAMILY
from model.decoding.strategies import Greedy
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import MODELS, load_folder
from model.trace import trace

WORDS, LONGEST = 6, 40  # of a line, given; and tokens, with those that are written


@torch.inference_mode()
def agreement(folder: Path, lines: Sequence[str]) -> dict[str, Any]:
    """How well the model in a folder and its exported form agree on lines of text.

    Raises: CheckpointError, naming the file; ValueError for an encoder-decoder, see `hub.export.agree`
    """
    ours = load_folder(folder)
    if ours.anatomy.reads_source and ours.anatomy.writes_target:
        raise ValueError(f"{folder.name} is an encoder-decoder: ask hub.export.agree")
    with tempfile.TemporaryDirectory() as exported:
        export(Path(exported), folder)
        opens = AutoModelForCausalLM if ours.anatomy.writes_target else AutoModelForPreTraining
        theirs, tokenizer = opens.from_pretrained(exported).eval(), AutoTokenizer.from_pretrained(exported)
    figures: dict[str, Any] = {"lines": len(lines)}
    largest, same = 0.0, 0
    for line in lines:
        if ours.anatomy.writes_target:
            prompt = " ".join(line.split()[:WORDS])
            traced = trace(ours, prompt, decoding=Greedy(LONGEST - 1))
            inputs = tokenizer(prompt, return_tensors="pt")
            written = theirs.generate(**inputs, max_length=LONGEST, do_sample=False)[0].tolist()
            same += written[1:] == list(traced.label_ids)
            logits = theirs(torch.tensor([traced.tgt_ids])).logits[0]
        else:
            traced = trace(ours, line)
            logits = theirs(torch.tensor([traced.src_ids])).prediction_logits[0]
        largest = max(largest, float((logits - torch.tensor(traced.tensors["logits"])).abs().max()))
    if ours.anatomy.writes_target:
        figures["same"] = same
    return figures | {"largest_logit_difference": largest}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m hub.export.agree_family", description=__doc__)
    parser.add_argument("file", type=Path, help="lines of English")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--models", type=Path, default=MODELS, help="the folder that holds the two models' folders")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    try:
        text = arguments.file.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line.strip()][: arguments.limit]
        print(json.dumps({name: agreement(arguments.models / name, lines) for name in FAMILY}, indent=2))
    except (CheckpointError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
