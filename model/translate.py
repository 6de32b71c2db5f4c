"""The model without the app: `python -m model.translate "I ate an apple."`, or lines on standard input."""

import argparse
import sys
from collections.abc import Iterable
from dataclasses import replace

import torch

from model.decoding.strategies import Beam, Decoding, Greedy, NextToken, decoding_steps
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import LoadedModel, load_folder
from model.text.tokenizer import EOS_ID
from model.trace import EmptySentenceError, most_tokens, taken


@torch.inference_mode()
def translate(loaded: LoadedModel, sentence: str, decoding: Decoding) -> str:
    """The German of an English sentence; '' for one with no text in it. Text beyond `most_tokens` is left out."""
    try:
        _, ids, _ = taken(loaded, sentence)
    except EmptySentenceError:
        return ""
    src_ids = torch.tensor([[*ids, EOS_ID]], device=loaded.device.torch)
    next_token = NextToken(loaded.model, loaded.model.encode(src_ids))
    *_, last = decoding_steps(next_token, replace(decoding, max_steps=min(decoding.max_steps, most_tokens(loaded))))
    return loaded.tokenizer.decode(last.best.ids)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m model.translate", description=__doc__)
    parser.add_argument("sentences", nargs="*", help="English; none: lines of standard input")
    parser.add_argument("--beam", type=int, default=4, help="beam size; 1 is greedy (default 4)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # one sentence is too little work to share
    try:
        loaded = load_folder()
    except CheckpointError as error:
        print(error, file=sys.stderr)
        return 1
    decoding = Greedy() if arguments.beam <= 1 else Beam(arguments.beam)
    sentences: Iterable[str] = arguments.sentences or sys.stdin
    for sentence in sentences:
        print(translate(loaded, sentence, decoding), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
