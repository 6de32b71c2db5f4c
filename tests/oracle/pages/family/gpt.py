"""What the lesson on GPT must show."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import (
    Choice,
    Shown,
    Statements,
    check_cell,
    code_of,
    numbers_of_figure,
    piece_columns,
    shown_tensor,
    tensor_matrix,
)  # fmt: skip
from tests.oracle.language.page import READABLE, Page, likeliest
from tests.oracle.language.statement import Statement, perplexity
from tests.oracle.language.words import inline, visible
from tests.oracle.passes import shipped
from tests.oracle.passes.decode import Ids, filter_logits
from tests.oracle.passes.draws import sampled
from tests.oracle.passes.family.language_models import (
    LONGER,
    NAME,
    Gpt,
    Text,
    entry,
    lstm_losses,
    most_pieces,
    next_scores,
    reading,
    text_of,
    text_on,
    tokenizer,
)  # fmt: skip
from tests.oracle.passes.forward import EOS, PAD, SOS, Array
from tests.oracle.shown.snapshots import loss  # noqa: F401 - its rule works out a loss

prose = Prose("gpt")

WRITE, WARM, BESIDE, SIZES = "Write on", "Three temperatures", "Beside an LSTM", "How large they became"
HAS_LSTM = (shipped.MODELS / "lstm").is_dir()
TRIAL = Choice("Try", "gpt_trial", (WRITE, WARM, *[BESIDE] * HAS_LSTM, SIZES))
OPENINGS = ("Once upon a time there was a little girl who", "The old man looked at the sea and")
SHOWN = 40


def begins(text: str, *more: int) -> str:
    return ".".join(map(str, (*tokenizer().encode(text, add_special_tokens=False).ids, *more)))


STATES = (
    {"gpt_at": "2"},
    {"sentence": "She reads.", "gpt_trial": SIZES},
    {"sentence": "Entschuldigung " * 60, "cell": "3.1"},
    {"sentence": OPENINGS[0], "gpt_temperature": "0.8", "gpt_top_k": "5", "gpt_seed": "3", "gpt_at": "3"},
    {"sentence": "The dog", "gpt_temperature": "1.5", "gpt_prefix": begins("and a <b>"), "gpt_at": "99"},
    {"sentence": "ฉันชอบสุนัข", "gpt_prefix": begins(" and", EOS), "gpt_at": "1"},
    {"sentence": 'He said, "Go!"', "gpt_prefix": "99999.3"},
    {"sentence": "The king was old.", "gpt_stop": "true"},
    {"sentence": OPENINGS[0], "gpt_trial": WARM},
    {"sentence": "I ate an apple", "gpt_trial": WARM},
    {"sentence": "Go", "gpt_trial": BESIDE if HAS_LSTM else SIZES},
)


def of(page: Page) -> tuple[Text, Gpt]:
    text = text_on(page.sentence)
    return text, reading(text.ids)


def losses(page: Page) -> Array:
    """Of each piece of the text, without `<eos>`."""
    return of(page)[1]["losses"][:-1, 0]


def parameters(name: str = NAME) -> int:
    return shipped.n_parameters(name)


def idea(page: Page) -> Statements:
    yield from prose("gpt is a decoder")
    config = shipped.config(NAME)
    sizes = config["n_layers"], config["d_model"], f"{config['d_ff']:,}", number(parameters() / 1e6, 1)
    yield from prose("the gpt here has", *sizes)


# --- See -------------------------------------------------------------------------------------------------------------


def see(page: Page) -> Statements:
    text, oracle = of(page)
    costs, n, size = losses(page), len(text.ids), shipped.config(NAME)["vocab_size"]
    if text.n_cut:
        yield from prose("this gpt reads at", most_pieces(), text.n_cut)
    yield from prose("how much does each")
    names = text.names[:READABLE]
    yield piece_columns(text.names, [("loss", costs)], **prose.words("a bar for each", len(names)))
    yield from common.cut_to((n, "pieces"))
    at, blind = int(costs.argmax()), math.log(size)
    most = inline(visible(text.names[at])), at + 1, number(costs[at], 2)
    yield from prose("every piece has a", n, number(costs.mean(), 2), f"{size:,}", number(blind, 2), *most)
    if costs.mean() >= blind:
        yield from prose("this text surprises it")
    yield from prose("the numbers of the")
    yield claims.table(("piece", "loss"), *((name, number(costs[i])) for i, name in enumerate(names)))
    yield from prose("what it expected instead")
    best = oracle.logits[: len(names)].argmax(1)
    highest = np.exp(oracle.log_shares.max(1))
    yield claims.table(
        "piece of your text | its probability | the likeliest there | its probability",
        *((name, chance(oracle.chances[i]), entry(int(best[i])), chance(highest[i])) for i, name in enumerate(names)),
    )
    right = sum(int(a) == b for a, b in zip(best, text.ids, strict=False))
    yield from prose("at of places the", right, len(names))
    yield claims.triangle(["<sos>", *text.names], text.names, range(min(8, n)), prose.line("a row sees what"))
    if n > 8:
        yield from prose("shown the first of rows", n)
    yield from prose("the causal mask hides")


# --- Check -----------------------------------------------------------------------------------------------------------


def shown(page: Page) -> Shown:
    text, oracle = of(page)
    rows = list(range(min(READABLE, len(text.ids))))
    return shown_tensor(
        page,
        "losses",
        rows=text.names[:READABLE],
        columns=["loss"],
        only_rows=rows,
        only_columns=[0],
        oracle=oracle,  # type: ignore[arg-type]
        scale="positive",
        limit=max(
            math.ceil(math.log(shipped.config(NAME)["vocab_size"])) + 1.0, np.ceil(losses(page)[:READABLE].max()).item()
        ),
        digits=4,
    )


def check(page: Page) -> Statements:
    costs = losses(page)
    yield from tensor_matrix(shown(page), **prose.words("losses"))
    yield from check_cell(shown(page))
    yield from prose("the loss of the", len(costs))
    terms = " + ".join(number(cost, 2) for cost in costs[:5]) + (r" + \dots" if len(costs) > 5 else "")
    mean = costs.mean()
    yield from prose("words", terms, len(costs), number(mean), perplexity(mean))


# --- Do: write on ----------------------------------------------------------------------------------------------------


def prefix(page: Page) -> tuple[Ids, str]:
    """The pieces that the address asks for, as far as they can be; what is said of the rest."""
    known: Ids = ()
    asked, size = page.state.get("gpt_prefix", ""), shipped.config(NAME)["vocab_size"]
    for part in asked.split(".") if asked else ():
        if not 0 <= int(part) < size:
            return known, prose.line("the address asks for", part, size)
        assert int(part) not in (PAD, SOS)
        known = (*known, int(part))
    return known, ""


def how(page: Page) -> tuple[float, int, int]:
    state = page.state
    return float(state.get("gpt_temperature", "0")), int(state.get("gpt_top_k", "0")), int(state.get("gpt_seed", "0"))


def drawn_from(page: Page, ids: Ids) -> Array:
    """What the piece after some is drawn from."""
    temperature, top_k, _ = how(page)
    return filter_logits(next_scores(ids), temperature, top_k, 1.0)


def unfinished(text: str) -> str:
    """The text without the mark at its end; all of it if it has none, or is nothing else."""
    open_end = text.rstrip("\"'”’»)]")
    return (open_end.rstrip(".!?…。！？").rstrip() if open_end[-1:] in (*".!?…。！？",) else "") or text


def first_word(ids: Ids) -> Ids:
    """The likeliest word, if the likeliest piece is none."""
    if len(ids) >= most_pieces():
        return ()
    likeliest = [int(id) for id in np.argsort(-next_scores(ids), kind="stable")]
    word = next(id for id in likeliest if entry(id).isalpha())
    return (word,) if word != likeliest[0] else ()


def opening(page: Page) -> tuple[Text, Ids]:
    """What is gone on from, and the piece that comes first, if it is not to stop at once."""
    text = text_on(unfinished(text_on(page.sentence).text))
    return text, first_word(text.ids)


def begun(page: Page) -> tuple[Text, Ids]:
    return (text_on(page.sentence), ()) if page.switch("gpt_stop") else opening(page)


def scene(page: Page) -> Statements:
    ids, first = opening(page)[0].ids, opening(page)[1]
    ids = ids[: most_pieces() - LONGER] if len(ids) == most_pieces() else ids
    whole = greedy((*ids, *first), min(len(ids) + LONGER, most_pieces()))
    oracle = Gpt(whole)
    stops = range(max(0, len(ids) - 12), min(len(ids) + 6, len(whole)))
    costs = oracle["losses"][:, 0]
    most = max((at for at in stops if 0 < at < len(ids)), key=lambda at: np.float32(costs[at]), default=0)
    control = "Move right to read on; past your last piece GPT writes"
    frames = [scene_frame(oracle, len(ids), at) for at in stops]
    caption = prose.line("gpt reads from left")
    yield from screen.scene(page, caption, control, frames, stops.index(most), by="slider", plays=True)


def scene_frame(oracle: Gpt, n: int, at: int) -> dict[str, Any]:
    names, costs = [entry(id) for id in oracle.labels], oracle["losses"][:, 0]
    blind = math.log(shipped.config(NAME)["vocab_size"])
    label, end = oracle.labels[at], max(n, at + 1)
    first = max(0, min(at - 6, end - 10))

    def card(i: int) -> list[Any]:
        if i > at:
            return screen.card(names[i], "unseen")
        state = "written" if i >= n else "asked" * (i == at)
        return screen.card(names[i], state, number(costs[i], 1), costs[i] / blind)

    cards = [card(i) for i in range(end)[first : first + 10]]
    shares = np.exp(oracle.log_shares[at])
    best = likeliest(shares, 5, label)
    fan = [screen.card(entry(id), "strong" * (id == label), chance(shares[id]), shares[id]) for id in best]
    took = visible(names[at]), chance(shares[label])
    top = best[0]
    if at == n and top != label:
        says = prose.line("so that it writes on", visible(entry(top)), chance(shares[top]), *took)
    elif at >= n:
        says = prose.line("it takes the end", took[1]) if label == EOS else prose.line("past your text", *took)
    else:
        before = f"After “{visible(names[at - 1])}”" if at else "With nothing to read yet"
        says = prose.line("gpt gives a surprise", before, *took, number(costs[at], 1), number(blind, 1))
    rows = [screen.row(cards, "Text and surprise"), screen.row(fan, "GPT's guesses", "output")]
    links = [screen.link((0, at - first), (1, i), shares[id], "output") for i, id in enumerate(best)]
    return screen.frame(visible(names[at]), says, [screen.cards(rows, links, slots=10)])


def greedy(ids: Ids, most: int) -> Ids:
    """The likeliest piece, again and again, until the end sign or as many as may be."""
    while ids[-1] != EOS and len(ids) < most:
        ids = (*ids, int(next_scores(ids).argmax()))
    return ids


def written(page: Page) -> Ids:
    """What is written behind the text."""
    begins, first = begun(page)
    text = begins.ids
    most = min(len(text) + LONGER, most_pieces())
    temperature, _, seed = how(page)
    ids = (*text, *(prefix(page)[0] or first))[:most]
    if temperature:
        ids = sampled(lambda some: drawn_from(page, some), seed, ids, most)
    return greedy(ids, most)[len(text) :]


def offered(ids: Ids, taken: int) -> list[int]:
    return likeliest(next_scores(ids), 10, taken, more=True)


def bold(id: int) -> str:
    return f"**{inline(visible(entry(id)))}**"


def write_on(page: Page) -> Statements:
    text, first = begun(page)
    yield from prose("where your text ends")
    yield from openings()
    whole, (shorter, word) = text_on(page.sentence).text, opening(page)
    does = [prose.line("goes on without your")] * (shorter.text != whole)
    does += [prose.line("takes the likeliest word", bold(id)) for id in word]
    if does:
        yield from prose("so that it does", " and ".join(does))
        yield claims.toggle("Let it stop", page.switch("gpt_stop"))
    if len(text.ids) == most_pieces():
        yield from prose("your text fills all", most_pieces())
        return
    temperature, top_k, seed = how(page)
    yield claims.slider("Temperature", 0.0, 2.0, temperature)
    yield claims.slider("Top-k (0: all)", 0, 50, top_k)
    yield claims.slider("Seed", 0, 9999, seed)
    yield claims.button("Draw again", disabled=temperature == 0)
    chosen, note = prefix(page)
    if note:
        yield Statement("warning", note)
    ids = written(page)
    step = min(page.count("gpt_at", 999, 1), len(ids)) - 1
    yield from prose("it goes on", inline(text_of(ids).strip() or "(nothing)"))
    befores = [(*text.ids, *ids[:t]) for t in range(len(ids))]
    yours = [
        t < len(chosen) and int(next_scores(before).argmax()) != id and (id,) != first[t : t + 1]
        for t, (before, id) in enumerate(zip(befores, ids, strict=True))
    ]
    yield theatre(text, ids, befores, yours, step)
    yield claims.button("Back to the model's own choice", disabled=not chosen)
    fixed = ", ".join(bold(id) for id, mark in zip(ids, yours, strict=True) if mark)
    end = prose.line("it wrote eos") if ids[-1] == EOS else prose.line("it was stopped", len(ids))
    yield claims.markdown(f"Fixed by you: {fixed}. {end}" if fixed else end)
    if temperature:
        yield from narrowing(page, befores[step], ids[step], (step, step < len(chosen or first)))


def openings() -> Statements:
    for sentence in OPENINGS:
        yield claims.button(f"{sentence} …")


def theatre(text: Text, ids: Ids, befores: Sequence[Ids], yours: Sequence[bool], step: int) -> Statement:
    n, layer = len(text.ids), shipped.config(NAME)["n_layers"]
    looks = Gpt([*text.ids, *ids])[f"decoder.layers.{layer - 1}.self_attn.weights"].mean(0)
    scenes: list[dict[str, Any]] = []
    for t, (before, id) in enumerate(zip(befores, ids, strict=True)):
        few, row = offered(before, id), looks[n + t]
        candidates = [[visible(entry(one)), float(np.exp(next_scores(before)[one]))] for one in few]
        own = [row[: n + 1].sum(), *row[n + 1 : n + t + 1]]
        told = {"cross": [], "self": own, "candidates": candidates, "chosen": few.index(id)}
        scenes.append(told | {"cache": [], "cache_says": ""})
    begun = text.text if len(text.text) <= SHOWN else f"…{text.text[-SHOWN:]}"
    return Statement(
        "theatre",
        {
            "steps": scenes,
            "source": [],
            "target": [visible(begun), *(visible(entry(id)) for id in ids)],
            "step": step,
            "yours": [False, *yours],
            "source_name": "",
            "target_name": prose.line("your text and what", layer),
        },
    )


def narrowing(page: Page, before: Ids, taken: int, at: tuple[int, bool]) -> Statements:
    step, given = at
    few = offered(before, taken)
    names, sides = [entry(id) for id in few], ("the model's", "drawn from")
    plain, kept = np.exp(next_scores(before)), drawn_from(page, before)
    both = zip(sides, (plain[few], kept[few]), strict=True)
    yield piece_columns(names, both, 1.0, **prose.words("two bars for each", step + 1, len(names)))
    entries = f"{int((kept > 0).sum()):,}", f"{len(kept):,}"
    how = "This piece was fixed, not drawn: " if given else "It drew "
    yield from prose(
        "at step it draws", step + 1, *entries, how, bold(taken), chance(plain[taken]), chance(kept[taken])
    )
    yield from numbers_of_figure(
        ("piece", *sides), *((name, chance(plain[id]), chance(kept[id])) for id, name in zip(few, names, strict=True))
    )


def three_temperatures(page: Page) -> Statements:
    text, first = opening(page)
    begun, most = (*text.ids, *first), min(len(text.ids) + 40, most_pieces())
    yield from prose("the same text three", prose.line("the first word is") if first else "")
    yield from openings()
    runs: dict[float, Ids] = {0.0: greedy(begun, most)}
    for heat in (0.7, 1.2):
        runs[heat] = sampled(lambda ids, heat=heat: filter_logits(next_scores(ids), heat, 0, 1.0), 0, begun, most)
    lines = []
    for heat, ids in runs.items():
        shares = [float(np.exp(next_scores(ids[:at])[ids[at]])) for at in range(len(text.ids), len(ids))]
        lines.append((number(heat, 1), text_of(ids[len(text.ids) :]).strip(), chance(float(np.mean(shares)))))
    yield claims.table("temperature | it goes on | mean probability of a piece", *lines)
    ids, n = runs[0.0], len(text.ids)
    circles = (
        (ids[at : at + size], at + size)
        for at in range(n, len(ids))
        for size in range(3, len(ids))
        if ids[at : at + size] == ids[at + size : at + 2 * size]
    )
    came_round, again = next(circles, ((), 0))
    if not came_round:
        yield from prose("it goes in no circle")
        return
    share = float(np.exp(next_scores(ids[:again])[ids[again]]))
    behind = (inline(visible(entry(ids[at]))) for at in (again - 1, again))
    named = inline(text_of(came_round).strip()), *behind
    yield from prose("it goes in a circle", *named, chance(share), chance(1 - share))


# --- Do: the others --------------------------------------------------------------------------------------------------


def beside(page: Page) -> Statements:
    text, _ = of(page)
    runs = {"GPT": losses(page), "LSTM": lstm_losses(text.ids)}
    yield from prose("an lstm reads piece")
    names = text.names[:READABLE]
    words = prose.words("two bars for each piece", len(names))
    yield piece_columns(names, runs.items(), **words)
    size = len(text.text.encode())
    yield claims.table(
        "your text | mean loss, nats | perplexity | bits per byte",
        *(
            (name, number(each.mean(), 3), perplexity(each.mean()), number(each.sum() / math.log(2) / size, 3))
            for name, each in runs.items()
        ),
    )
    lower = int((runs["GPT"] < runs["LSTM"]).sum())
    yield from prose("the gpt's loss is", lower, len(text.ids))
    yield from numbers_of_figure(
        ("piece", *runs), *((name, *(number(costs[n]) for costs in runs.values())) for n, name in enumerate(names))
    )
    yield from prose("one text proves little")
    # The two were measured on the same texts; both learned from the same ones.
    gpt, lstm = shipped.metrics(NAME), shipped.metrics("lstm")
    assert gpt["test"]["data"] == lstm["test"]["data"]
    assert gpt["training"]["data"] == lstm["training"]["data"]
    rows = [
        ("GPT", f"{parameters():,}", gpt["test"]["bits_per_byte"]),
        ("LSTM", f"{parameters('lstm'):,}", lstm["test"]["bits_per_byte"]),
        ("5-gram, counted", "–", gpt["test"]["five_gram"]),
    ]
    yield claims.table(
        " | parameters | bits per byte | perplexity per byte",
        *((title, size, number(bits, 3), number(math.exp(bits * math.log(2)), 2)) for title, size, bits in rows),
    )
    yield from prose("a gram model learns")


RESULTS = Path(__file__).parents[4] / "assets" / "results"
DECODERS = (
    ("GPT", "2018-06", 117),
    ("GPT-2", "2019-02", 1542),
    ("GPT-3", "2020-05", 175_000),
    ("GPT-NeoX-20B", "2022-04", 20_000),
    ("LLaMA (largest)", "2023-02", 65_200),
    ("Llama 3.1 (largest)", "2024-07", 405_000),
    ("DeepSeek-V3", "2024-12", 671_000),
)


def sizes(page: Page) -> Statements:
    yield from prose("the gpt here has parameters", f"{parameters():,}")
    # The claims of the page Results hold the sources to be right.
    sources = json.loads((RESULTS / "sources.json").read_text())
    rows = {row["name"]: row for row in json.loads((RESULTS / "sizes.json").read_text())["rows"]}
    lines = []
    for name, date, millions in DECODERS:
        paper = sources[rows[name]["source"]]
        size, times = f"{millions * 1_000_000:,}", f"{round(millions * 1e6 / parameters()):,}"
        lines.append((name, date, size, times, f"[{paper['paper']}, {rows[name]['where']}]({paper['url']})"))
    yield claims.table("decoder alone | first published | parameters | times the one here | source", *lines)
    yield from prose("of deepseek-v s parameters")


# --- Predict ---------------------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    text, _ = of(page)
    costs, n = losses(page), len(text.ids)
    s, es = ("", "") if n == 1 else ("s", "es")
    yield prose.question("a gpt learns from", 2, n, s, es)
    if n > 1:
        right, options, wrong = common.four_largest(costs[:READABLE], [visible(name) for name in text.names])
        most = costs[:READABLE].max()
        values = number(most, 2), chance(math.exp(-most))
        yield prose.question("it reads your text", right, *values, options=options, wrong=wrong)
    if not HAS_LSTM:
        return
    means = costs.mean(), lstm_losses(text.ids).mean()
    right = int(np.argmin(means))
    wrong = {1 - right: prose.line("not on this text", number(max(means), 3))}
    yield prose.question("an lstm learned from", right, *(number(mean, 3) for mean in means), wrong=wrong)


do = TRIAL.trials(write_on, three_temperatures, *[beside] * HAS_LSTM, sizes)
code = code_of(
    "model/families/decoder_only.py: DecoderOnly",
    "experiments/family/language_models.py: read_text",
    "training/loop/loss.py: batch_loss",
    "model/decoding/strategies.py: filter_logits",
)
