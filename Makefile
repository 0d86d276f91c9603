# Every target makes its own environment: Python 3.11 or newer and make are all it takes.
PYTHON ?= python3
VENV := .venv
PYTEST_ARGS ?= -n auto --dist worksteal
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench docs clean

help:
	@echo "make demo    learn a dictionary of shapes made in code, and draw it and its geometry into demo/"
	@echo "make test    run the tests (set SHAPELEX_DATA to run those on real shapes too)"
	@echo "make lint    ruff, mypy, import-linter, numpydoc"
	@echo "make bench   print the tables of measured speed"
	@echo "make docs    build the documentation into docs/_build/html"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip

# One stamp a dependency group: installed once, and again when pyproject.toml changes.
$(VENV)/%.stamp: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable . --group $*
	@touch $@

demo: $(VENV)/test.stamp
	$(BIN)/python examples/geometry_figures.py demo
	$(BIN)/python examples/dictionary_figures.py demo
	$(BIN)/python examples/datasets_figures.py demo
	$(BIN)/python examples/registration_figures.py demo

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/lint.stamp $(VENV)/test.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/check_docstrings.py

format: $(VENV)/lint.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The peers pin old versions of what we use, so they live in an environment of their own.
bench:
	@$(MAKE) --no-print-directory VENV=.venv-bench .venv-bench/bench.stamp
	.venv-bench/bin/python benchmarks/run.py $(BENCHMARKS)

docs: $(VENV)/docs.stamp
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) .venv-bench demo docs/_build docs/api/generated dist
