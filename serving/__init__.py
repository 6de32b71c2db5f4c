"""Many learners at once: several processes of the app behind one proxy. `python -m serving`, or `make serve`."""

# Names one visitor, whatever address they come from: a whole classroom may share one. The proxy sets it.
VISITOR_COOKIE = "walkthrough_visitor"
MOST_PAGES = 8  # that one visitor may have open at once in one process
TOO_MANY_PAGES = "x-too-many-pages"  # a header, by which a page beyond them learns that it is one
