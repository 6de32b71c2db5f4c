"""What the lesson on fine-tuning must show before a training. What it shows then depends on the training:
tests/pages/family/test_fine_tuning.py."""

import functools
import json
import math
from typing import Any

import numpy as np
from safetensors import safe_open

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.common import Choice, Statements, code_of
from tests.oracle.language.page import Page
from tests.oracle.language.words import inline, visible
from tests.oracle.pages.training.train_it_yourself import note
from tests.oracle.passes.family import task_heads
from tests.oracle.passes.family.bert import GPT, together, tokenizer
from tests.oracle.passes.foreign import SHIPPED
from tests.oracle.passes.forward import EOS, SOS, Array, tidied
from tests.oracle.passes.network import Network
from tests.oracle.passes.shipped import config, weights
from tests.oracle.passes.untrained import random_gpt

prose = Prose("fine_tuning")

SETS = {"At sea or on a farm": "places", "An animal or a person": "animals", "Happy or sad": "moods"}
MEANS = {  # − and +
    "places": ("on a farm", "at sea"),
    "animals": ("a person", "an animal"),
    "moods": ("sad", "happy"),
}
STEPS, MODES = (0, 1, 2, 4, 8, 14, 20), {"pre-trained": "has read books", "random weights": "has read nothing"}
KNOWN = {"GPT": "gpt-mini", "BERT": "bert-mini"}
MODELS = {title: name for title, name in KNOWN.items() if (SHIPPED / name).exists()}
LEARNS = ["all weights", "the head alone"]
TRIAL = Choice("Try", "trial", ("Your sentence", "Four tasks", "With and without", "What each step is worth"))
TRIALS = TRIAL.options
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
    {"trial": TRIALS[1], "sentence": "Zoë ate a 🍎"},
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
            return prose.line("has no label", line)
    labels = {line[0] for line in lines}
    if len(labels) == 2:
        return ""
    if not labels:
        return prose.line("nothing to learn yet")
    minus, plus = MEANS[name_of(page)]
    all_alike, other = (plus, minus) if labels.pop() == "+" else (minus, plus)
    return prose.line("all sentences are labelled", all_alike, other)


def sizes(page: Page) -> tuple[int, int, int]:
    """Width, vocabulary and numbers of the model that is chosen."""
    folder = SHIPPED / MODELS[page.choice("pretrained", list(MODELS), "GPT")]
    sizes = config(folder.name)
    with safe_open(folder / "model.safetensors", "np") as file:
        n = sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    return sizes["d_model"], sizes["vocab_size"], n


@functools.lru_cache(512)
def row(text: str, mode: str) -> Array:
    """What a head reads of a text: the last row of `<sos>`, at most 40 pieces, `<eos>`."""
    w = weights(GPT) if mode == "pre-trained" else random_gpt(**config(GPT))
    ids = tokenizer().encode(text, add_special_tokens=False).ids[:40]
    return Network(config(GPT), w, records=()).decoder_states([SOS, *ids, EOS])[-1]


def head_alone(learned: list[tuple[str, str]], others: tuple[str, ...], mode: str = "pre-trained") -> Array:
    """Logistic regression from zeros, 20 steps at a rate of 0.02: the chance of + for others after each step (21,M)."""
    rows, new = (np.array([row(text, mode) for text in some]) for some in ([text for _, text in learned], others))
    mean, deviation = rows.mean(0), np.sqrt(((rows - rows.mean(0)) ** 2).mean(0)).mean() + 1e-6
    x, z = (np.c_[(some - mean) / deviation, np.ones(len(some))] for some in (rows, new))
    wanted, head, found = np.array([float(label == "+") for label, _ in learned]), np.zeros(x.shape[1]), []
    for _ in range(21):
        found.append(1 / (1 + np.exp(np.clip(-z @ head, -700, 700))))
        head = head - 0.02 * x.T @ (1 / (1 + np.exp(np.clip(-x @ head, -700, 700))) - wanted) / len(x)
    return np.array(found)


def percent(right: float, n: int) -> str:
    return f"{claims.number(100 * right, 0)}% ± {claims.number(100 * math.sqrt(right * (1 - right) / n), 0)}"


def scene(page: Page) -> Statements:
    new = sentences(name_of(page))[20:]
    learned = sentences(name_of(page))[:20] if fault(page) else labelled(page)
    texts, means = (*(text for _, text in new), page.text), MEANS[name_of(page)]
    found = {mode: head_alone(learned, texts, mode) for mode in MODES}
    plus = np.array([label == "+" for label, _ in new])
    frames = []
    for step in STEPS:
        right = {mode: float(((of[step][:60] > 0.5) == plus).mean()) for mode, of in found.items()}
        panels = [
            [
                screen.dots(
                    [(p, bool(kind)) for p, kind in zip(of[step], plus, strict=False)],
                    means, mode, f"{100 * right[mode]:.0f}%", MODES[mode], of[step][60],
                )
            ]
            for mode, of in found.items()
        ]  # fmt: skip
        mine = found["pre-trained"][step][60]
        says = means[int(mine > 0.5)], claims.chance(max(mine, 1 - mine))
        answer = prose.line("pre-trained it sorts of", *(percent(one, 60) for one in right.values()), *says)
        frames.append(screen.frame(str(step), answer, *panels))
    caption, control = prose.line("fine-tuning on two gpts", len(learned)), f"Steps on {len(learned)} labels"
    yield from screen.scene(page, caption, control, frames, len(STEPS) - 1, by="slider", plays=True)


def cards(page: Page, label: str) -> list[str]:
    lines = [tidied(line) for line in written(page).splitlines()]
    return [*dict.fromkeys(line[1:].strip() for line in lines if line.startswith(label) and line[1:].strip())]


def see(page: Page) -> Statements:
    name = name_of(page)
    yield claims.segmented("Sentences", list(SETS), page.choice("set", list(SETS), next(iter(SETS))))
    labels: dict[str, set[str]] = {}
    for line in written(page).splitlines():
        labels.setdefault(tidied(line[1:]), set()).add(line[:1])
    both = [text for text, found in labels.items() if {"+", "-"} <= found]
    if says := fault(page):
        yield claims.info(says)
    elif both:
        yield from prose("lies on both sides", both[0])
    if not says:
        yield from verdict(page)
    yield from prose("click a sentence to")
    for label, means in zip("-+", MEANS[name], strict=True):
        heap = cards(page, label)
        if heap:
            yield claims.control("button_group", f"**{means}**: {len(heap)}", options=heap, value=None)
        else:
            yield claims.markdown(f"**{means}**: 0")
    yield from prose("write your own sentences")
    minus, plus = MEANS[name]
    label, help = f"A line each: + for “{plus}”, - for “{minus}”", prose.line("at most lines each")
    yield claims.control("text_area", label, value=written(page), help=help)
    yield from prose("now all weights learn")
    if not says:
        yield claims.button("Train")
        yield note()
    yield from prose("another model the head")
    model = yield from common.choose(page, "Pre-trained model", "pretrained", list(MODELS), "GPT")
    if model == "GPT":
        yield claims.toggle("Go on guessing pieces, λ = 0.5", page.switch("auxiliary"))
    yield claims.segmented("What learns", LEARNS, page.choice("learns", LEARNS, LEARNS[0]))
    yield from prose("the head alone leaves")
    others = sentences(name_of(page))[20:]
    said = (f"*{text}* {MEANS[name]['-+'.index(label)]}" for label, text in others[:4])
    yield from prose("in each of steps", len(others), " · ".join(said))


def labelled(page: Page) -> list[tuple[str, str]]:
    """What the learner wrote, each line once."""
    lines = (line for line in written(page).splitlines() if line.strip())
    return [*dict.fromkeys((line[:1], tidied(line[1:])) for line in lines)]


def verdict(page: Page) -> Statements:
    """GPT's head, trained alone on the learner's labels."""
    every, learned = sentences(name_of(page))[20:], labelled(page)
    last = head_alone(learned, (*(text for _, text in every), page.text))[-1]
    right = float(np.mean([(p > 0.5) == (label == "+") for p, (label, _) in zip(last, every, strict=False)]))
    mine, n = last[-1], len(every)
    says = MEANS[name_of(page)][int(mine > 0.5)], claims.chance(max(mine, 1 - mine))
    yield from prose("your sentence so says", *says, len(learned), n, percent(right, n))


def check(page: Page) -> Statements:
    yield from prose("mend and check" if fault(page) else "check")


def your_sentence(page: Page) -> Statements:
    yield from prose("your own sentence through")
    yield from prose("mend and it labels" if fault(page) else "press train and it labels")


# The 17 tags of Universal Dependencies in the order of their names, as a learner may call them.
KINDS_OF_WORD = (
    "adjective", "preposition", "adverb", "auxiliary verb", "conjunction, as “and”", "determiner, as “the”",
    "interjection, as “oh”", "noun", "number", "particle, as “not”", "pronoun", "name", "mark", "conjunction, as “if”",
    "symbol", "verb", "other",
)  # fmt: skip


def four_tasks(page: Page) -> Statements:
    """What the four heads make of the sentence."""
    typed = page.state.get("same_as", "I had an apple."), page.state.get("to_answer", "What did I eat?")
    text, another, question = (task_heads.ids_of(one) for one in (page.text, *typed))
    yield from prose("one bert four tasks")
    if len(task_heads.all_ids(page.text)) > task_heads.MOST:
        yield from prose("of each text bert")

    likely = task_heads.classes("sentiment", text)
    best = int(likely.argmax())
    yield from prose("a class for a", ("unkind", "kind")[best], claims.chance(likely[best]))
    yield claims.text_box("Another sentence", typed[0])
    if another:
        likely = task_heads.classes("paraphrase", text, another)
        best = int(likely.argmax())
        yield from prose("it finds that they", ("something else", "the same")[best], claims.chance(likely[best]))
    else:
        yield from prose("type another sentence so")

    told = [task_heads.ids_of(one) for one in ("Mary went back to the garden.", "Where is Mary?")]
    yield from prose("a span which words", *answered(told[1], told[0]))
    yield claims.text_box("A question about your sentence", typed[1])
    if question:
        yield from prose("it answers with probability", *answered(question, text))
    else:
        yield from prose("type a question so")

    yield from prose("a tag for every")
    tags = ((visible(word), KINDS_OF_WORD[int(row.argmax())], row.max()) for word, row in task_heads.tagged(page.text))
    yield claims.table("word | kind of word | probability", *((*both, claims.chance(p)) for *both, p in tags))
    yield from prose("how good they are")
    rows = []
    for task, words in prose.words("what each task asks").items():
        figures = task_heads.metrics()[task]
        both = (share(figures[what], figures["n"]) if what in figures else "–" for what in ("right", "counted"))
        rows.append((words, f"{figures['train']:,}", *both))
    yield claims.table("task | examples learned from | right on others | by counting words", *rows)
    yield from prose("right is the share")


def answered(question: tuple[int, ...], text: tuple[int, ...]) -> tuple[str, str]:
    first, last, probability = task_heads.span(question, text)
    words = together(text[first : last + 1]).removeprefix(" ")
    return inline(visible(words)) or "␣", claims.chance(probability)


def share(p: float, n: int) -> str:
    return f"{claims.number(100 * p, 1)}% ± {claims.number(100 * math.sqrt(p * (1 - p) / n), 1)}"


def kept() -> dict[str, Any]:
    """The figures that the command printed, by model."""
    return json.loads((SHIPPED.parent / "labelled" / "four_tasks.json").read_text())


def with_and_without(page: Page) -> Statements:
    asks = {kind: words.split(" | ") for kind, words in prose.words("what each head gives").items()}
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
        yield claims.table("the head gives | for example | pre-trained: right | random: right | apart", *rows)
        tail = math.erfc(2 / math.sqrt(2)) / 2
        yield from prose("in of tasks the", clear, name, f"{100 - 100 * (1 - tail) ** 4:.0f}")
        yield from prose(
            "where apart is below", claims.number(-min(one["standard_errors_apart"] for one in found.values()), 2)
        )
    yield from prose("both learned alike all")


def ablation(page: Page) -> Statements:
    yield from prose("leave out one thing")
    # Radford et al. 2018, Table 5, the column of the mean.
    reported = {"second_loss": 74.7, "random": 59.9, "pretrained": 75.0, "lstm": 69.1}
    names = prose.words("what was left out")
    tasks = kept()["gpt-mini"]["tasks"].values()
    assert len(tasks) == 4
    ours, errors = {}, {}
    for way in reported:
        shares = [(one["right"][way], one["n"]) for one in tasks]
        ours[way] = 25 * sum(p for p, _ in shares)
        errors[way] = 25 * math.sqrt(sum(p * (1 - p) / n for p, n in shares))
    mine = {way: f"{claims.number(ours[way], 1)}% ± {claims.number(errors[way], 1)}" for way in reported}
    rows = ((names[way], f"{score}", mine[way]) for way, score in reported.items())
    yield claims.table("model | the paper: mean score | ours: mean share right", *rows)
    falls = (reported["second_loss"] - reported["random"], reported["second_loss"] - reported["lstm"])
    rise = reported["pretrained"] - reported["second_loss"]
    yield from prose("in the paper without", *(f"{one:.1f}" for one in (*falls, rise)))

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
    options = ("0", blind, claims.number(math.log(vocab_size), 2))
    yield prose.question("the loss says how", 1, blind, f"{vocab_size:,}", options=options)


do = TRIAL.trials(your_sentence, four_tasks, with_and_without, ablation)
code = code_of(
    "training/loop/finetune_loop.py: fine_tune, loss_of",
    "model/adapting/fine_tuned.py: new_head, FineTunedWriter, FineTunedReader",
    "training/live/labelling.py: Labelling",
    "training/loop/finetune_loop.py: moved",
    "model/parts/task_heads.py: load_task",
    "experiments/family/four_tasks.py: answer",
)
