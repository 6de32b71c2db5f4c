"""Fine-tune live on twenty sentences: how long a learner waits for the classifier, with each model of the lesson."""

import time
from dataclasses import replace

from benchmarks.kit.report import Figure, report
from pages.family.fine_tuning.choosing import MODELS, SETS, sentences
from training.live.labelling import AUXILIARY, MOST, STEPS, Labelling, Progress
from training.live.processes import DONE, LiveTraining

BAR_SECONDS = 30.0


def seconds(task: Labelling) -> float:
    """From the button to the last report."""
    training = LiveTraining[Progress](task)
    start = time.perf_counter()
    for _ in training.run():
        pass
    assert training.ended == DONE, training.ended
    assert training.reports[-1].step == STEPS
    return time.perf_counter() - start


def measure() -> list[Figure]:
    every = sentences(next(iter(SETS.values())).file)
    tasks = {title: Labelling(name, every[:MOST], every[MOST:]) for title, name in MODELS.items()}
    tasks["GPT with the second loss"] = replace(tasks["GPT"], auxiliary=AUXILIARY)
    seconds(next(iter(tasks.values())))  # starts the process from which trainings are split off
    return [
        Figure(f"fine-tuning: {MOST} sentences, {name}", seconds(task), "s", BAR_SECONDS)
        for name, task in tasks.items()
    ]


if __name__ == "__main__":
    report(measure())
