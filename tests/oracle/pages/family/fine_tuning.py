"""What the lesson on fine-tuning must show before a training. What it shows then depends on the training:
tests/pages/family/test_fine_tuning.py."""

import json
import math
from typing import Any

from safetensors import safe_open

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.common import Statements, code_of
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import inline, visible
from tests.oracle.pages.training.train_it_yourself import note
from tests.oracle.passes import bert, task_heads
from tests.oracle.passes.foreign import SHIPPED
from tests.oracle.passes.forward import tidied
from tests.oracle.passes.language_models import text_of
from tests.oracle.shown import stage_family

prose = Prose("fine_tuning")

SETS = {"At sea or on a farm": "places", "An animal or a person": "animals", "Happy or sad": "moods"}
KNOWN = {"GPT": "gpt-mini", "BERT": "bert-mini"}
MODELS = {title: name for title, name in KNOWN.items() if (SHIPPED / name).exists()}
LEARNS = ["all weights", "the head alone"]
TRIALS = ["Your sentence", "Four tasks", "With and without", "What each step is worth"]
STATES = (
    {},
    {"set": "An animal or a person", "pretrained": "BERT", "learns": "the head alone", "trial": TRIALS[3]},
    {"auxiliary": "true", "set": "Happy or sad", "labelled_moods": "+ I am here.\n- You are there.\n+ You are there."},
    {"labelled_places": "+ All alike.\n+ Of one kind.", "sentence": "very " * 60 + "good.", "trial": TRIALS[1]},
    {
        "trial": TRIALS[1],
        "sentence": "Mary didn't go to Tom's garden, she's in the kitchen.",
        "same_as": "Mary is in the kitchen. " * 20,
        "to_answer": "Where is <b>Mary</b>?",
    },
    {"trial": TRIALS[1], "sentence": "+", "same_as": " ", "to_answer": " "},
    {
        "labelled_places": "+ One.\n- Two.\n<b>Three</b> has *none*",
        "learns": "nothing",
        "pretrained": "T5",
        "trial": TRIALS[2],
    },
    {"labelled_places": " ", "trial": "none"},
)


def sentences(name: str) -> list[tuple[str, str]]:
    """Labels and sentences of a set."""
    lines = (SHIPPED.parent / "labelled" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [(line[0], line[2:]) for line in lines]


def name_of(page: Page) -> str:
    return SETS[page.choice("set", list(SETS), next(iter(SETS)))]


def written(page: Page) -> str:
    name = name_of(page)
    given = "\n".join(f"{label} {text}" for label, text in sentences(name)[:20])
    return page.state.get(f"labelled_{name}", given)


def fault(page: Page) -> str:
    """Why nothing can be learned, or ''."""
    lines = dict.fromkeys(tidied(line) for line in written(page).splitlines() if line.strip())
    for line in lines:
        if line[0] not in "+-":
            return f"“{line}” has no label: begin each line with + or -."
    labels = {line[0] for line in lines}
    if len(labels) == 2:
        return ""
    what = f"All labels are {labels.pop()}" if labels else "There is nothing to learn yet"
    return f"{what}: write at least one line with + and one with -."


def sizes(page: Page) -> tuple[int, int, int]:
    """Width, vocabulary and numbers of the model that is chosen."""
    folder = SHIPPED / MODELS[page.choice("pretrained", list(MODELS), "GPT")]
    config = json.loads((folder / "config.json").read_text())
    with safe_open(folder / "model.safetensors", "np") as file:
        n = sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    return config["d_model"], config["vocab_size"], n


def on_stage(page: Page, small: bool) -> Statement:
    """The small GPT with the visitor's sentence in it."""
    machine = stage_family.of_gpt(bert.tokenizer().encode(page.text, add_special_tokens=False).ids)
    parts = ("embedding", "positions", "self_attn", "feed_forward")
    return stage_family.clip(machine, [f"decoder.{part}" for part in parts], small)


def see(page: Page) -> Statements:
    yield claims.segmented("Sentences", list(SETS), page.choice("set", list(SETS), next(iter(SETS))))
    yield claims.control(
        "text_area",
        "Twenty sentences and your labels: + or -",
        value=written(page),
        help=prose.line("at most lines each"),
    )
    labels: dict[str, set[str]] = {}
    for line in written(page).splitlines():
        labels.setdefault(tidied(line[1:]), set()).add(line[:1])
    both = [text for text, found in labels.items() if {"+", "-"} <= found]
    if says := fault(page):
        yield claims.info(says)
    else:
        if both:
            yield from prose("has both labels it", both[0])
        yield claims.button("Train")
        yield note()
    yield from prose("another model the head")
    model = yield from common.choose(page, "Pre-trained model", "pretrained", list(MODELS), "GPT")
    if model == "GPT":
        yield claims.toggle("Go on guessing pieces, λ = 0.5", page.switch("auxiliary"))
    yield claims.segmented("What learns", LEARNS, page.choice("learns", LEARNS, LEARNS[0]))
    yield from prose("the head alone leaves")
    others = sentences(name_of(page))[20:]
    yield from prose("in each of steps", len(others), " · ".join((f"{label} *{text}*" for label, text in others[:4])))


def do(page: Page) -> Statements:
    trial = yield from common.choose(page, "Try", "trial", TRIALS)
    if trial == TRIALS[0]:
        yield from prose("your own sentence through")
        return
    if trial == TRIALS[1]:
        yield from four_tasks(page)
    elif trial == TRIALS[2]:
        yield from with_and_without()
    else:
        yield from ablation()


# The 17 tags of Universal Dependencies in the order of their names, as a learner may call them.
KINDS_OF_WORD = (
    "adjective", "preposition", "adverb", "auxiliary verb", "conjunction, as “and”", "determiner, as “the”",
    "interjection, as “oh”", "noun", "number", "particle, as “not”", "pronoun", "name", "mark", "conjunction, as “if”",
    "symbol", "verb", "other",
)  # fmt: skip


def four_tasks(page: Page) -> Statements:
    """What the four heads make of the sentence."""
    text, another, question = (
        task_heads.ids_of(one)
        for one in (
            page.text, page.state.get("same_as", "I had an apple."), page.state.get("to_answer", "What did I eat?")
        )
    )  # fmt: skip
    yield from prose("one bert four tasks")
    if len(task_heads.all_ids(page.text)) > task_heads.MOST:
        yield from prose("of each text bert")

    likely = task_heads.classes("sentiment", text)
    best = int(likely.argmax())
    yield from prose("a class for a", ("unkind", "kind")[best], claims.chance(likely[best]))
    yield claims.text_box("Another sentence", page.state.get("same_as", "I had an apple."))
    if another:
        likely = task_heads.classes("paraphrase", text, another)
        best = int(likely.argmax())
        yield from prose("it finds that they", ("something else", "the same")[best], claims.chance(likely[best]))
    else:
        yield from prose("type another sentence so")

    yield from prose("a span which words")
    yield claims.text_box("A question about your sentence", page.state.get("to_answer", "What did I eat?"))
    if question:
        first, last, probability = task_heads.span(question, text)
        words = text_of(text[first : last + 1]).removeprefix(" ")
        yield from prose("it answers with probability", inline(visible(words)) or "␣", claims.chance(probability))
    else:
        yield from prose("type a question so")

    yield from prose("a tag for every")
    yield claims.table(
        ("word", "kind of word", "probability"),
        *(
            (visible(word), KINDS_OF_WORD[int(row.argmax())], claims.chance(row.max()))
            for word, row in task_heads.tagged(page.text)
        ),
    )
    yield from prose("how good they are")
    asks = {
        "sentiment": "Kind or unkind?",
        "paraphrase": "Does it mean the same?",
        "qa_babi": "Which words answer the question?",
        "pos": "What kind of word is it?",
    }
    figures = task_heads.metrics()
    yield claims.table(
        ("task", "examples learned from", "right on others"),
        *(
            (words, f"{figures[t]['train']:,}", share(figures[t]["right"], figures[t]["n"]))
            for t, words in asks.items()
        ),
    )
    yield from prose("right is the share")


def share(p: float, n: int) -> str:
    return f"{claims.number(100 * p, 1)}% ± {claims.number(100 * math.sqrt(p * (1 - p) / n), 1)}"


def kept() -> dict[str, Any]:
    """The figures that the command printed, by model."""
    return json.loads((SHIPPED.parent / "labelled" / "four_tasks.json").read_text())


def with_and_without() -> Statements:
    asks = {
        "sentence": ("a class for a sentence", "Is this film review kind or unkind?"),
        "pair": ("a class for a pair", "Do these two sentences mean the same?"),
        "span": ("the two ends of a span", "Which words of the story answer the question?"),
        "tags": ("a tag for every word", "Is it a noun, a verb, an adjective, …?"),
    }
    yield from prose("does pre-training help we")
    for model, name in (("gpt-mini", "GPT"), ("bert-mini", "BERT")):
        if model not in kept():
            continue
        settings, tasks = kept()[model]["settings"], kept()[model]["tasks"]
        found = {one["kind"]: one for one in tasks.values()}
        assert all(one["train"] <= settings["examples"] for one in found.values())
        yield from prose("the small on up", name, f"{settings['examples']:,}", settings["epochs"])
        rows, clear = [], 0
        for kind, words in asks.items():
            n, right = found[kind]["n"], [found[kind]["right"][way] for way in ("pretrained", "random")]
            apart = (right[0] - right[1]) / math.hypot(*(math.sqrt(p * (1 - p) / n) for p in right))
            clear += apart > 2
            assert abs(apart - found[kind]["standard_errors_apart"]) < 0.02, kind
            told = claims.number(found[kind]["standard_errors_apart"], 2)
            rows.append((*words, *(share(p, n) for p in right), told))
        head = ("the head gives", "for example", "pre-trained: right", "random: right", "apart")
        yield claims.table(head, *rows)
        yield from prose("in of tasks the", clear, name)
    yield from prose("both learned alike all")


def ablation() -> Statements:
    yield from prose("leave out one thing")
    # Radford et al. 2018, Table 5, the column of the mean.
    reported = {"second_loss": 74.7, "random": 59.9, "pretrained": 75.0, "lstm": 69.1}
    names = (
        "Transformer, pre-trained, with the second loss",
        "without pre-training",
        "without the second loss",
        "an LSTM instead of the Transformer",
    )
    tasks = kept()["gpt-mini"]["tasks"].values()
    assert len(tasks) == 4
    ours, errors = {}, {}
    for way in reported:
        shares = [(one["right"][way], one["n"]) for one in tasks]
        ours[way] = 25 * sum(p for p, _ in shares)
        errors[way] = 25 * math.sqrt(sum(p * (1 - p) / n for p, n in shares))
    yield claims.table(
        ("model", "the paper: mean score", "ours: mean share right"),
        *(
            (name, f"{score}", f"{claims.number(ours[way], 1)}% ± {claims.number(errors[way], 1)}")
            for name, (way, score) in zip(names, reported.items(), strict=True)
        ),
    )
    falls = {way: reported["second_loss"] - score for way, score in reported.items()}
    yield from prose(
        "in the paper without", f"{falls['random']:.1f}", f"{falls['lstm']:.1f}", f"{-falls['pretrained']:.1f}"
    )

    def apart(way: str) -> str:
        difference = ours[way] - ours["second_loss"]
        return f"{claims.number(abs(difference), 1)} {'lower' if difference < 0 else 'higher'}"

    yield from prose("ours without pre-training the", apart("random"), apart("lstm"), apart("pretrained"))
    paper = "https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf"
    yield claims.table(("source",), (f"[Radford et al. 2018, Table 5]({paper})",))


def predict(page: Page) -> Statements:
    d_model, vocab_size, n = sizes(page)
    yield prose.question("the head reads a", 1, d_model, f"{2 * d_model + 2:,}", f"{n:,}")
    blind = claims.number(math.log(2), 2)
    yield prose.question(
        "the loss says how", 1, blind, f"{vocab_size:,}", options=("0", blind, claims.number(math.log(vocab_size), 2))
    )


code = code_of(
    "training/loop/finetune_loop.py: fine_tune, loss_of",
    "model/adapting/fine_tuned.py: new_head, FineTunedWriter, FineTunedReader",
    "training/live/labelling.py: Labelling",
    "training/loop/finetune_loop.py: moved",
    "model/parts/task_heads.py: load_task",
    "experiments/family/four_tasks.py: answer",
)
