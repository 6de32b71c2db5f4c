"""The model as shipped, beside a second computation from its files (tests/forward.py, tests/decode.py)."""

import json
from typing import Any

import pytest

from experiments.family.scaling import KEPT as OF_SIZES
from experiments.family.scaling import SIZES, power_law
from experiments.family.seeds import trained_again
from model.adapting.adapters import ADAPTERS, file_of
from model.adapting.row_tasks import ROWS
from model.files.load_special_models import IN_CONTEXT
from model.files.loaded_model import MODELS
from model.parts.task_heads import TASK_HEADS
from training import clip, drawing, pictures, sounds
from training.compare_pretraining import OF_A_READER, WAYS, standard_errors_apart
from training.live.styles import STYLES
from training.loop.blanks_again import KEPT as AGAIN
from training.loop.tasks import KEPT, KEPT_OF_ROWS, ROW_TASKS, TASKS
from training.publish import adapters, family, rows
from training.publish.tasks import EPOCHS, EXAMPLES, RATE, card

ELECTRAS = ("paraphrase", "qa_babi", "pos")  # a pair, a span, tags


def figures(name: str) -> dict[str, Any]:
    measured: dict[str, Any] = json.loads((MODELS / name / "metrics.json").read_text())["test"]
    return measured


def again(measured: str) -> str:
    return ", ".join(f"{100 * share:.1f}" for share in trained_again(measured)) + "%"


def test_the_readme_tells_the_familys_figures_and_they_reach_what_they_must() -> None:
    readme = (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    gpt, lstm, bert, regression = (figures(name) for name in ("gpt-mini", "lstm", "bert-mini", "in-context"))
    ratios = [regression["in-context"][str(n)] / regression["ridge"][str(n)] for n in range(5, 41)]
    neighbours = f"{bert['single_sentences']:.1%} ± {bert['standard_error']:.1%}"
    for told in (
        f"{gpt['bits_per_byte']:.3f} ({gpt['five_gram']:.3f}; {lstm['bits_per_byte']:.3f})",
        f"{bert['accuracy']:.1%} ({bert['left_neighbour']:.1%}); {neighbours}",
        "; ".join(again(measured) for measured in ("accuracy", "single_sentences")),
        f"{min(ratios):.2f}, {max(ratios):.2f}",
    ):
        assert f"| {told} |" in readme, told
    assert gpt["bits_per_byte"] < min(gpt["five_gram"], lstm["bits_per_byte"])
    assert gpt["data"] == lstm["data"] == bert["data"]
    assert bert["accuracy"] > 2 * bert["left_neighbour"]
    assert max(ratios) < 1.1


def test_the_readme_tells_what_electra_and_the_experts_reach() -> None:
    readme = (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    electra, kept = figures("electra-mini"), json.loads(KEPT.read_text())
    at_2, at_1 = (f"{one['area']:.1%} ± {one['standard_error']:.1%}" for one in (electra, electra["at_temperature_1"]))
    assert f"| {at_2}; {at_1} |" in readme
    assert electra["area"] >= 0.85
    names = ("bert-mini", "bert-longer", "electra-mini")
    rights = ([kept[name]["tasks"][task]["right"]["pretrained"] for task in ELECTRAS] for name in names)
    assert f"| {', '.join(f'{100 * sum(each) / 3:.1f}' for each in rights)}% |" in readme
    assert kept["bert-longer"]["settings"] == kept["electra-mini"]["settings"] == kept["bert-mini"]["settings"]
    losses, busiest = {}, {}
    for name in ("experts-balanced", "experts-two", "experts-free", "plain-1", "plain-2", "plain-3"):
        losses[name] = json.loads((MODELS / name / "metrics.json").read_text())["training"]["validation_loss"]
        if name.startswith("experts"):
            layers = json.loads((MODELS / name / "routing.json").read_text())["layers"].values()
            busiest[name] = 4 * max(max(one["work"]) for one in layers)
    plain = sum(losses[f"plain-{n}"] for n in (1, 2, 3)) / 3
    one, two, free = (busiest[f"experts-{which}"] for which in ("balanced", "two", "free"))
    told = (
        f"{losses['experts-balanced']:.3f}, {losses['experts-two']:.3f}, {plain:.3f}; {one:.2f}, {free:.2f}, {two:.2f}"
    )
    assert f"| {told} |" in readme, told


def test_the_readme_tells_what_t5_and_reading_again_reach() -> None:
    readme = (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    t5 = figures("t5-mini")
    formed, spans, tags, answers = (f"{t5[what]['right']:.1%}" for what in ("well_formed", "spans", "tags", "answers"))
    short = t5["target_pieces"]["mean"] / t5["text_pieces"]["mean"]
    assert f"| {formed}; {short:.2f}; {spans}, {tags}, {answers} |" in readme
    assert t5["well_formed"]["right"] >= 0.98
    assert short <= 0.25
    again = json.loads(AGAIN.read_text())["differences"]
    blanks, pairs = again["new blanks, with texts alone"]["loss"], again["no pairs, with new blanks"]["accuracy"]
    told = f"{-blanks[0]:.2f} ± {blanks[1]:.2f}; {100 * pairs[0]:.1f} ± {100 * pairs[1]:.1f}"
    assert f"| {told.replace('-', '−')} |" in readme, told


def test_the_readme_tells_what_size_reaches() -> None:
    readme = (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    sizes = [json.loads((MODELS / name / "metrics.json").read_text()) for name in SIZES]
    law = power_law([one["parameters"] for one in sizes], [one["training"]["validation_loss"] for one in sizes])
    assert law.fit >= 0.97
    kept = json.loads(OF_SIZES.read_text())
    assert kept["line"] == pytest.approx({"power": law.slope, "fit": law.fit, "foretold": 4.0898}, abs=1e-4)
    shots = kept["models"]
    cells = [cell for one in shots.values() for cell in one.values()]
    assert all(cell["says_good"] == 1 for cell in cells)  # so the shares that are right as they say it are equal
    best = max((cell["against_the_middle"] for cell in cells), key=lambda pair: pair[0])
    told = (" ± ".join(f"{share:.1%}" for share in pair) for pair in (best, cells[0]["right"]))
    assert f"| {law.fit:.3f}; {-law.slope:.3f}; {'; '.join(told)} |" in readme, (law, best)


def test_the_readme_tells_what_the_readers_of_digits_reach() -> None:
    folder = MODELS / "pictures"
    kept = json.loads((folder / "metrics.json").read_text())
    test, hiding, cosines = kept["test"], kept["hiding"]["2"], kept["cosines_of_places"]
    pairs = [[test[f"{kind}-{n}"] for kind in ("vit", "cnn")] for n in (8000, 500)]
    told = "; ".join(
        ", ".join(f"{100 * mean:.1f} ± {100 * error:.1f}" for mean, error in pair) + "%"
        for pair in (*pairs, [hiding["looked_at"], hiding["random"]])
    )
    assert f"| {told} |" in (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    assert test["vit-8000"][0] >= 0.975
    assert kept["cnn_ahead"]["8000"][0] <= 0.01
    assert kept["cnn_ahead"]["500"][0] >= 0.02
    assert cosines["neighbours"] - cosines["far"] >= 0.2
    assert (folder / "README.md").read_text(encoding="utf-8") == pictures.card(kept)
    swin = ", ".join(f"{100 * mean:.1f} ± {100 * error:.1f}" for mean, error in (test["swin-8000"], kept["swin_ahead"]))
    assert f"| {swin} |" in (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    assert kept["swin_ahead"][0] >= -0.005
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1_000_000


def test_the_readme_tells_how_well_it_draws_and_answers() -> None:
    folder = MODELS / "drawing"
    kept = json.loads((folder / "metrics.json").read_text())
    told = ", ".join(
        f"{100 * kept['test'][name][0]:.1f} ± {100 * kept['test'][name][1]:.1f}%" for name in ("read_back", "answered")
    )
    assert f"| {told} |" in (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    assert kept["test"]["read_back"][0] >= 0.85
    assert kept["test"]["answered"][0] >= 0.95
    assert (folder / "README.md").read_text(encoding="utf-8") == drawing.card(kept)
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1_000_000


def test_the_readme_tells_how_well_pictures_and_words_meet() -> None:
    folder = MODELS / "clip"
    kept = json.loads((folder / "metrics.json").read_text())
    test, readme = kept["test"], (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    told = ", ".join(
        f"{100 * test[name]['found'][0]:.1f} ± {100 * test[name]['found'][1]:.1f}%"
        for name in ("known", "new words", "unseen")
    )
    assert f"| {told} |" in readme, told
    assert test["new words"]["found"][0] >= 0.5
    assert test["unseen"]["found"][0] >= 0.25 or "bar 25%: missed" in readme
    assert (folder / "README.md").read_text(encoding="utf-8") == clip.card(kept)
    notice = (MODELS.parent / "NOTICE").read_text(encoding="utf-8")
    assert all(of in notice for of in ("Twemoji", "unicode-emoji-json", "emojibase-data", "emojilib"))
    assert sum(file.stat().st_size for file in folder.iterdir()) < 9_000_000


def test_the_readme_tells_how_well_spoken_digits_are_heard() -> None:
    folder = MODELS / "sounds"
    kept = json.loads((folder / "metrics.json").read_text())
    found = [kept["test"][name] for name in ("voices", "new-voice", "joined")]
    told = ", ".join(f"{100 * of[0]:.1f} ± {100 * of[1]:.1f}%" for of in found)
    assert f"| {told} |" in (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    assert (found[0][0] >= 0.93, found[1][0] >= 0.6, found[2][0] <= 0.1) == (True, True, True)
    assert {name: of["steps"] for name, of in kept["training"].items()} == {
        name: recipe.steps for name, recipe in sounds.RECIPES.items()
    }
    assert (folder / "README.md").read_text(encoding="utf-8") == sounds.card(kept)
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1_500_000


@pytest.mark.parametrize("name", family.NAMES)
def test_a_card_of_the_family_is_the_one_that_publishing_writes(name: str) -> None:
    measured: dict[str, Any] = json.loads((MODELS / name / "metrics.json").read_text())
    if name == IN_CONTEXT:  # JSON makes text of the numbers that its figures go by
        measured["test"] = {way: {int(n): error for n, error in of.items()} for way, of in measured["test"].items()}
    assert (MODELS / name / "README.md").read_text(encoding="utf-8") == family.card(name, measured, MODELS / name)


def test_the_heads_of_four_tasks_are_small_and_described() -> None:
    measured: dict[str, Any] = json.loads((TASK_HEADS / "metrics.json").read_text())
    files = {path.stem: path.stat().st_size for path in TASK_HEADS.glob("*.safetensors")}
    assert files.keys() == measured.keys() == TASKS.keys()
    assert sum(files.values()) <= 22e6
    recipes = {(one["train"], one["epochs"], one["learning_rate"]) for one in measured.values()}
    assert recipes == {(EXAMPLES, EPOCHS, RATE)}
    assert (TASK_HEADS / "README.md").read_text(encoding="utf-8") == card(measured, TASK_HEADS)
    notice = (MODELS.parent / "NOTICE").read_text(encoding="utf-8")
    assert all(f"{task}.safetensors: " in notice for task in TASKS)


def test_the_adapters_are_small_described_and_in_the_readme() -> None:
    measured: dict[str, Any] = json.loads((ADAPTERS / "metrics.json").read_text())
    assert measured.keys() == STYLES.keys()
    assert sum(file_of(name).stat().st_size for name in STYLES) <= 200e3
    assert (ADAPTERS / "README.md").read_text(encoding="utf-8") == adapters.card(measured)
    notice, readme = (
        path.read_text(encoding="utf-8") for path in (MODELS.parent / "NOTICE", MODELS.parents[1] / "README.md")
    )
    assert all(file_of(name).name in notice for name in STYLES)
    in_style, exact = (
        ", ".join(str(one[key]) for one in measured.values()) for key in ("in_the_style", "word_for_word")
    )
    assert f"| {in_style}; {exact} |" in readme


def test_what_the_tasks_in_one_row_add_is_small_described_and_in_the_readme() -> None:
    measured: dict[str, Any] = json.loads((ROWS / "metrics.json").read_text())
    files = {path.stem: path.stat().st_size for path in ROWS.glob("*.safetensors")}
    assert files.keys() == measured.keys() == ROW_TASKS.keys()
    assert sum(files.values()) <= 1e6
    assert all((one["epochs"], one["learning_rate"]) == (rows.EPOCHS, rows.RATE) for one in measured.values())
    assert (ROWS / "README.md").read_text(encoding="utf-8") == rows.card(measured, ROWS)
    notice, readme = (
        path.read_text(encoding="utf-8") for path in (MODELS.parent / "NOTICE", MODELS.parents[1] / "README.md")
    )
    assert "assets/models/rows" in notice
    right, counted = (
        ", ".join(f"{100 * measured[task][what]:.1f}" for task in ROW_TASKS) for what in ("right", "counted")
    )
    assert f"| {right}% ({counted}%) |" in readme


def test_pre_training_helps_the_small_gpt_to_tell_what_follows() -> None:
    (line,) = json.loads(KEPT_OF_ROWS.read_text())["gpt-mini"]["tasks"].values()
    assert standard_errors_apart(line["right"], line["n"]) == line["standard_errors_apart"] > 2


def test_pre_training_helps_the_small_bert_in_at_least_three_of_four_tasks() -> None:
    """By more than two standard errors of the difference; the readme tells how often, of both models."""
    kept = json.loads(KEPT.read_text())
    assert kept["bert-mini"]["settings"] == kept["gpt-mini"]["settings"]
    clear = {}
    for name, ways in (("bert-mini", {*OF_A_READER}), ("gpt-mini", {*WAYS})):
        lines = kept[name]["tasks"]
        assert lines.keys() == TASKS.keys()
        assert all(line["right"].keys() == ways for line in lines.values())
        clear[name] = sum(standard_errors_apart(line["right"], line["n"]) > 2 for line in lines.values())
    assert clear["bert-mini"] >= 3
    readme = (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"| {clear['bert-mini']} of 4; {clear['gpt-mini']} of 4 |" in readme


def test_the_readme_tells_how_good_the_four_heads_are() -> None:
    readme = (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    measured: dict[str, Any] = json.loads((TASK_HEADS / "metrics.json").read_text())
    told = ", ".join(f"{100 * measured[task]['right']:.1f}" for task in TASKS)
    assert f"| {told}% |" in readme
    counted = {task: 100 * one["counted"] for task, one in measured.items() if "counted" in one}
    assert f"| {', '.join(f'{counted[task]:.1f}' for task in TASKS if task in counted)}% |" in readme
    # The page says so.
    assert {task for task, share in counted.items() if share > 100 * measured[task]["right"]} == {
        "sentiment",
        "paraphrase",
    }
