# `make` lists the targets. Everything installs into .venv; nothing else on the machine changes, except that
# `make test` and `make bench` install Chromium and nginx where they are missing and may be installed.

PYTHON ?= python3
BIN := .venv/bin
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
# The headless shell is Chromium without its windows: the same engine for two thirds of the work.
CHROMIUM ?= $(shell command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || \
	command -v google-chrome)
# The tests run two at a time already: more threads for one product would only wait for one another.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# What Python and pytest compile is kept, whatever the machine says: a third of the start of each worker and server.
KEPT := PYTHONDONTWRITEBYTECODE=
PYTEST := $(ONE_THREAD) $(KEPT) $(BIN)/pytest -n 2 --dist loadgroup --no-loadscope-reorder

.PHONY: help app serve env env-dev check unit test bench lint constraints chromium nginx

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

app: env  ## Install what is missing and start the app
	$(BIN)/streamlit run app.py

serve: env  ## Serve the app to many learners, on port 8080 (PORT=, PROCESSES=, APPS=, TRUST=: see docs/)
	@$(BIN)/python -m serving $(if $(PORT),--port $(PORT)) $(if $(PROCESSES),--processes $(PROCESSES)) \
		$(if $(APPS),--apps $(APPS)) $(if $(TRUST),--trust $(TRUST))

env: .venv/app.stamp  ## Install what the app needs

env-dev: .venv/dev.stamp  ## Install what training, tests and checks need as well

check: env-dev  ## Lint, types and unit tests: not the slow ones, nor those of whole pages (under 90 seconds)
	@$(MAKE) --no-print-directory -j 2 lint unit

unit: env-dev
	$(PYTEST) -m "not browser and not slow" --ignore tests/pages

test: env-dev chromium nginx  ## All tests, in a real browser too
	CHROMIUM="$(CHROMIUM)" $(PYTEST)

bench: env-dev chromium nginx  ## This project beside its peers, as ratios
	CHROMIUM="$(CHROMIUM)" $(BIN)/python -m benchmarks

lint: env-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The local part of a version, such as torch's +cpu, is of one machine alone.
FREEZE := fresh/bin/python -m pip freeze | sed 's/+.*//'
constraints:  ## Write constraints.txt anew from a fresh environment, after a change of the requirements
	@here="$$PWD" && new="$$(mktemp -d)" && trap 'rm -rf "$$new"' EXIT && cd "$$new" && $(PYTHON) -m venv fresh && \
		fresh/bin/python -m pip install -q -r "$$here/requirements.txt" && $(FREEZE) > app && \
		fresh/bin/python -m pip install -q -r "$$here/requirements-dev.txt" && $(FREEZE) > all && \
		{ sed -n '/^#/!q; p' "$$here/constraints.txt"; printf '\n# The app\n'; cat app; \
		printf '\n# Training, tests and checks on top\n'; grep -vxFf app all; } > made && \
		cp made "$$here/constraints.txt"

chromium:
	@[ -n "$(CHROMIUM)" ] || { $(SUDO) apt-get update -q && \
		{ $(SUDO) apt-get install -qy chromium-headless-shell || $(SUDO) apt-get install -qy chromium; }; } || \
		{ echo "The browser tests need Chromium: install it, or name one with make test CHROMIUM=/path/to/it."; exit 1; }

nginx:
	@[ -n "$$(PATH="$$PATH:/usr/sbin" command -v nginx)" ] || \
		{ $(SUDO) apt-get update -q && $(SUDO) apt-get install -qy --no-install-recommends nginx; } || \
		{ echo "The tests of make serve need nginx: install it."; exit 1; }

# A stamp file is newer than its requirements file as long as nothing needs installing.
.venv/app.stamp: requirements.txt constraints.txt .venv/made.stamp
	$(BIN)/python -m pip install -r requirements.txt -c constraints.txt
	@touch $@

.venv/dev.stamp: requirements-dev.txt .venv/app.stamp
	$(BIN)/python -m pip install -r requirements-dev.txt -c constraints.txt
	@touch $@

.venv/made.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "This needs Python 3.11 or newer. If another one is installed: make app PYTHON=/path/to/it."; exit 1; }
	@$(PYTHON) -m venv .venv || \
		{ echo "Python's venv module is missing. On Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	@touch $@
