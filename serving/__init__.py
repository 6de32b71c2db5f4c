"""Many learners at once: several processes of the app behind one proxy. `python -m serving`, or `make serve`."""

# Names one visitor, whatever address they come from: a whole classroom may share one. The proxy sets it.
VISITOR_COOKIE = "walkthrough_visitor"
BEHIND_PROXY = "x-walkthrough-proxy"  # a header, by which the app learns that the proxy stands before it
MOST_PAGES = 8  # that one visitor may have open at once in one process
TOO_MANY_PAGES = "x-too-many-pages"  # a header, by which a page beyond them learns whose they are: NAMED or UNNAMED
NAMED, UNNAMED = "of this browser", "of all without a cookie"
