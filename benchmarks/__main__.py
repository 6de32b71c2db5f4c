"""`python -m benchmarks`: every part, one after the other, in one table."""

from benchmarks import browser, lessons, load, memory, ride, start, training, views
from benchmarks.report import report

report([figure for part in (browser, ride, lessons, views, load, training, memory, start) for figure in part.measure()])
