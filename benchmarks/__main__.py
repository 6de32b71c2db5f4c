"""`python -m benchmarks`: every part, one after the other, in one table."""

from benchmarks import browser, lessons, load, memory, ride, start, views
from benchmarks.report import report

report([figure for part in (browser, ride, lessons, views, load, memory, start) for figure in part.measure()])
