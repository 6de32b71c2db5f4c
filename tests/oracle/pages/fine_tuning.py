"""What the lesson on fine-tuning must show before a training. What it shows then depends on the training:
tests/pages/test_fine_tuning.py."""

import json
import math
from typing import Any

from safetensors import safe_open

from tests.oracle import bert, claims, stage_family, task_heads
from tests.oracle.common import Statements, code_part
from tests.oracle.foreign import SHIPPED
from tests.oracle.forward import tidied
from tests.oracle.language_models import text_of
from tests.oracle.page import Page
from tests.oracle.pages.train_it_yourself import note
from tests.oracle.statement import Statement
from tests.oracle.words import inline, visible

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


def idea(page: Page) -> Statements:
    yield claims.markdown(
        "**Pre-training**: a model reads many books and learns to guess pieces of them. Nobody has to label anything. "
        "**Fine-tuning**: the same model then learns a task from a few examples with labels. For that it gets a small new "
        "layer, its **head**, which gives each label a score."
    )
    yield claims.markdown(
        "Do the books help? Two models learn from your twenty sentences. One starts from pre-trained weights, the other "
        "from random ones. Then both label sentences that they have not seen."
    )
    yield claims.fold("The head as a formula")
    yield claims.latex(r"P(\text{label}\mid\text{sentence})=\mathrm{softmax}(hW+b)")
    yield claims.markdown(
        "h is one row of the last layer: in a GPT that of the end mark, which has seen the whole sentence; in a BERT that "
        "of [CLS], the sign at the beginning, after one more small layer, the *pooler*. W and b are new. They start from "
        "small random numbers and zeros."
    )


def see(page: Page) -> Statements:
    yield claims.segmented("Sentences", list(SETS), page.choice("set", list(SETS), next(iter(SETS))))
    yield claims.control(
        "text_area",
        "Twenty sentences and your labels: + or -",
        value=written(page),
        help="At most 20 lines; each begins with + or -. Write your own sentences, with any meaning of + and - that you "
        "like. Of a sentence, 40 pieces are read.",
    )
    labels: dict[str, set[str]] = {}
    for line in written(page).splitlines():
        labels.setdefault(tidied(line[1:]), set()).add(line[:1])
    both = [text for text, found in labels.items() if {"+", "-"} <= found]
    if says := fault(page):
        yield claims.info(says)
    else:
        if both:
            yield claims.caption(
                f"“{both[0]}” has both labels. It counts for both, so no model can get both of them right."
            )
        yield claims.button("Train")
        yield note()
    yield claims.fold("Another model, the head alone, or GPT's second loss")
    model = page.choice("pretrained", list(MODELS), "GPT")
    yield claims.segmented("Pre-trained model", list(MODELS), model)
    if model == "GPT":
        yield claims.toggle("Go on guessing pieces, λ = 0.5", page.switch("auxiliary"))
    yield claims.segmented("What learns", LEARNS, page.choice("learns", LEARNS, LEARNS[0]))
    yield claims.caption(
        "*The head alone* leaves every pre-trained number as it is. With *λ* GPT learns two things at once: the labels, "
        "and still the next piece of each sentence. Its loss is L₃ = L₂ + λL₁, that of the labels plus λ times that of "
        "the pieces."
    )
    yield claims.fold("What is measured")
    others = sentences(name_of(page))[20:]
    yield claims.markdown(
        f"In each of 20 steps both models read all your sentences. Then they label {len(others)} others on the same topic, "
        "which we labelled and which are never learned from. If your + and − mean something else, that share tells little. "
        "After ± stands the standard error, √(p(1−p)/n): about so far another set of n sentences would put the share p."
    )
    yield claims.caption("For example: " + " · ".join(f"{label} *{text}*" for label, text in others[:4]))


def check(page: Page) -> Statements:
    yield claims.caption(
        "First press *Train* in See. After the training, you can work out here how your sentence got its scores."
    )


def do(page: Page) -> Statements:
    trial = page.choice("trial", TRIALS, TRIALS[0])
    yield claims.segmented("Try", TRIALS, trial)
    if trial == TRIALS[0]:
        yield claims.markdown("**Your own sentence, through your own classifier**")
        yield claims.caption(
            "First press *Train* in See. After the training, your model labels the sentence from the bar above."
        )
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
    yield claims.markdown(
        "**One BERT, four tasks.** For each task the small BERT got a head of its own, and its last two layers learned "
        "with it. All below them is the same for all four. Here they read your sentence."
    )
    if len(task_heads.all_ids(page.text)) > task_heads.MOST:
        yield claims.info("Of each text BERT reads at most 60 pieces here.")

    likely = task_heads.classes("sentiment", text)
    best = int(likely.argmax())
    yield claims.markdown("**1. A class for a sentence.** As a sentence from a film review: kind or unkind?")
    yield claims.markdown(
        f"It finds your sentence **{('unkind', 'kind')[best]}**, with probability {claims.chance(likely[best])}."
    )

    yield claims.markdown("**2. A class for a pair.** Do two sentences mean the same?")
    yield claims.text_box("Another sentence", page.state.get("same_as", "I had an apple."))
    if another:
        likely = task_heads.classes("paraphrase", text, another)
        best = int(likely.argmax())
        yield claims.markdown(
            f"It finds that they mean **{('something else', 'the same')[best]}**, with probability "
            f"{claims.chance(likely[best])}."
        )
    else:
        yield claims.info("Type another sentence, so that there is a pair.")

    yield claims.markdown("**3. A span.** Which words of a text answer a question?")
    yield claims.text_box("A question about your sentence", page.state.get("to_answer", "What did I eat?"))
    if question:
        first, last, probability = task_heads.span(question, text)
        words = text_of(text[first : last + 1]).removeprefix(" ")
        yield claims.markdown(
            f"It answers: **{inline(visible(words)) or '␣'}**, with probability {claims.chance(probability)}."
        )
        yield claims.caption(
            "It knows stories of one form alone, like *Mary went back to the garden. Where is Mary?* Try that one."
        )
    else:
        yield claims.info("Type a question, so that there is something to answer.")

    yield claims.markdown("**4. A tag for every word.** What kind of word is it?")
    yield claims.table(
        ("word", "kind of word", "probability"),
        *(
            (visible(word), KINDS_OF_WORD[int(row.argmax())], claims.chance(row.max()))
            for word, row in task_heads.tagged(page.text)
        ),
    )
    yield claims.fold("How good they are")
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
    yield claims.caption(
        "*Right* is the share of test answers that are, with its standard error behind ±; a span is right if both its ends "
        "are. The film reviews, pairs, stories and tagged sentences, and their licences, are named on the card of these "
        "models, in assets/models/tasks."
    )


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
    yield claims.markdown(
        "**Does pre-training help?** We fine-tuned our small models on one task of each kind, from their pre-trained "
        "weights and from random ones. Each kind of task needs another head."
    )
    for model, name in (("gpt-mini", "GPT"), ("bert-mini", "BERT")):
        if model not in kept():
            continue
        settings, tasks = kept()[model]["settings"], kept()[model]["tasks"]
        found = {one["kind"]: one for one in tasks.values()}
        assert all(one["train"] <= settings["examples"] for one in found.values())
        yield claims.markdown(
            f"**The small {name}**, on up to {settings['examples']:,} examples of each task, read {settings['epochs']} times:"
        )
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
        yield claims.markdown(
            f"In **{clear}** of 4 tasks the pre-trained {name} is better by more than 2 standard errors, which chance alone "
            "hardly gives."
        )
    yield claims.caption(
        "Both learned alike: all weights, the same examples in the same order. Each had the learning rate that did best on "
        "texts kept apart for choosing. *Right* is the share of test answers that are; a span is right if both its ends "
        "are. After ± stands the standard error of that share; *apart* counts how many standard errors of the difference "
        "lie between the two."
    )


def ablation() -> Statements:
    yield claims.markdown(
        "**Leave out one thing at a time.** The first GPT was fine-tuned on eight tasks. Its paper reports the mean of their "
        "scores, with everything and with one thing left out. The *second loss* is that of the next piece, which GPT goes "
        "on learning beside the labels. We did the same with our small GPT and our four tasks."
    )
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
    yield claims.caption(
        f"In the paper, without pre-training the mean falls by {falls['random']:.1f}, and with an LSTM by "
        f"{falls['lstm']:.1f}. Without the second loss it is {-falls['pretrained']:.1f} higher: by the paper it helps on the "
        "larger tasks, not on the smaller ones."
    )

    def apart(way: str) -> str:
        difference = ours[way] - ours["second_loss"]
        return f"{claims.number(abs(difference), 1)} {'lower' if difference < 0 else 'higher'}"

    yield claims.markdown(
        f"Ours: without pre-training the mean is {apart('random')}, with an LSTM {apart('lstm')}, without the second loss "
        f"{apart('pretrained')}. Other tasks, far smaller models and far less text: compare the differences, not the scores."
    )
    paper = "https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf"
    yield claims.table(("source",), (f"[Radford et al. 2018, Table 5]({paper})",))


def predict(page: Page) -> Statements:
    d_model, vocab_size, n = sizes(page)
    yield claims.question(
        f"The head reads a row of {d_model} numbers and gives two labels a score each. How many numbers of the model are "
        "new, that is, not pre-trained?",
        ("2", f"{2 * d_model + 2:,}", f"{n:,}"),
        1,
        f"W has {d_model} · 2 numbers and b has 2. The model has {n:,} pre-trained ones.",
        {0: "That is how many scores come out.", 2: "That is how many numbers were pre-trained."},
    )
    blind = claims.number(math.log(2), 2)
    yield claims.question(
        "The loss says how unlikely a model finds the right label: −ln P. Before the first step the head is random and its "
        "scores lie close together. About how large is the loss of a sentence?",
        ("0", blind, claims.number(math.log(vocab_size), 2)),
        1,
        f"Two labels with nearly equal scores get about 1/2 each, and −ln(1/2) = {blind}.",
        {
            0: "0 is the loss of a label that gets probability 1.",
            2: f"That is a blind guess among {vocab_size:,} pieces, as in pre-training. Here there are two labels.",
        },
    )


def code(page: Page) -> Statements:
    yield from code_part(
        ("training/loop/finetune_loop.py", "fine_tune"),
        ("training/loop/finetune_loop.py", "loss_of"),
        ("model/adapting/fine_tuned.py", "new_head"),
        ("model/adapting/fine_tuned.py", "FineTunedWriter"),
        ("model/adapting/fine_tuned.py", "FineTunedReader"),
        ("training/live/labelling.py", "Labelling"),
        ("training/loop/finetune_loop.py", "moved"),
        ("model/parts/task_heads.py", "load_task"),
        ("experiments/family/four_tasks.py", "answer"),
    )
