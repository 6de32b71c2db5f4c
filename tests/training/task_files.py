"""Files of four tiny tasks."""

import json
from pathlib import Path

STORY = {"story": ["Tom has a cat.", "The dog sat."], "qa": [[1, "Who has it?", "Tom", 0, [0]]]}


def write_tasks(folder: Path) -> Path:
    """Of each task 8 examples to learn from, 10 to choose by and 12 to measure with."""
    for part, n in (("train", 4), ("val", 5), ("test", 6)):
        (folder / f"sentiment.{part}.tsv").write_text("label\ttext\n" + "pos\tThe cat sat.\nneg\tA dog sees it.\n" * n)
        (folder / f"paraphrase.{part}.tsv").write_text("label\ta\tb\n" + "1\tThe cat.\tA cat.\n0\tA dog.\tTom.\n" * n)
        (folder / f"entailment.{part}.tsv").write_text(
            "label\ta\tb\n" + "entailment\tThe cat sat.\tA cat.\nneutral\tA dog.\tTom.\n" * n
        )
        (folder / f"pos.{part}.tsv").write_text("tokens\ttags\n" + "The cat sat .\tDET NOUN VERB PUNCT\n" * 2 * n)
        (folder / f"qa_babi.{part}.jsonl").write_text((json.dumps(STORY) + "\n") * 2 * n)
    return folder
