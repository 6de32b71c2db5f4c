"""`python -m benchmarks`: every part, one after the other, in one table."""

from benchmarks import (
    answers,
    browser,
    classroom,
    first_paint,
    lessons,
    load,
    malice,
    memory,
    peers,
    poll,
    ride,
    sheet,
    start,
    views,
)
from benchmarks.kit.report import report
from benchmarks.workers import fine_tuning, strangers, training

PARTS = (
    *(peers, browser, first_paint, ride, sheet, lessons, views, load, answers, classroom, malice, poll, training),
    *(fine_tuning, strangers),
    *(memory, start),
)
report([figure for part in PARTS for figure in part.measure()])
