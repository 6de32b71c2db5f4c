"""Two texts read as one row by an encoder alone: does the second follow the first?"""

from dataclasses import replace

import numpy as np

from model.anatomy.structure import Made
from model.files.loaded_model import LoadedModel
from model.text.tokenizer import CLS_ID, SEP_ID
from model.trace import Trace, read

SCORES, CHANCES = "next_sentence.logits", "next_sentence.probabilities"

Ids = tuple[int, ...]


def read_pair(loaded: LoadedModel, first: Ids, second: Ids) -> Trace:
    """[CLS] first [SEP] second [SEP], read as two segments; with the probabilities (1,2) that the second text follows
    the first, and that it does not.
    """
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    found = read(loaded, [CLS_ID, *first, SEP_ID, *second, SEP_ID], segments)
    scores = found.tensors[SCORES].astype(np.float64)
    powers = np.exp(scores - scores.max())
    made = Made("softmax_of_scores", (SCORES,), (), ("one", "classes"))
    anatomy = replace(loaded.anatomy, tensors={**loaded.anatomy.tensors, CHANCES: made})
    tensors = {**found.tensors, CHANCES: powers / powers.sum()}
    return replace(found, model=replace(loaded, anatomy=anatomy), tensors=tensors)
