"""`python -m benchmarks`: every part, one after the other, in one table."""

from benchmarks import (
    browser,
    classroom,
    fine_tuning,
    lessons,
    load,
    memory,
    peers,
    poll,
    ride,
    start,
    strangers,
    training,
    views,
)
from benchmarks.kit.report import report

PARTS = (
    *(peers, browser, ride, lessons, views, load, classroom, poll, training, fine_tuning, strangers),
    *(memory, start),
)
report([figure for part in PARTS for figure in part.measure()])
