"""Files of four tiny tasks."""

import json
from pathlib import Path

STORY = {"story": ["Tom has a cat.", "The dog sat."], "qa": [[1, "Who has it?", "Tom", 0, [0]]]}


def write_tasks(folder: Path) -> Path:
    for part in ("train", "val", "test"):
        (folder / f"sentiment.{part}.tsv").write_text("label\ttext\n" + "pos\tThe cat sat.\nneg\tA dog sees it.\n" * 4)
        (folder / f"paraphrase.{part}.tsv").write_text("label\ta\tb\n" + "1\tThe cat.\tA cat.\n0\tA dog.\tTom.\n" * 4)
        (folder / f"pos.{part}.tsv").write_text("tokens\ttags\n" + "The cat sat .\tDET NOUN VERB PUNCT\n" * 8)
        (folder / f"qa_babi.{part}.jsonl").write_text((json.dumps(STORY) + "\n") * 8)
    return folder
