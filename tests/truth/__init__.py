"""The truth test: every number that a lesson's See and Check show, computed again by tests/forward.py.

reading.py reads a page, cells.py judges matrices and worked cells, lessons/ holds what only one lesson shows: a module
a lesson, named like its page, with its texts (WORDS), matrices that are no tensor (MATRICES), charts (CHARTS), overview
of heads (GRID), other components (OTHER) and counts to try in the address (COUNTS).
"""
