# Every target makes its own environment: Python 3.11 or newer and make are all it takes.
PYTHON ?= python3
VENV := .venv
PYTEST_ARGS ?= -n auto --dist worksteal
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DIST_PIP := .venv-dist/bin/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo paper figures test test-random test-oldest fuzz lint lint-page format bench docs dist clean

help:
	@echo "make demo    images of leaves to a dictionary, codes, a comparison and a page to explore, in demo/"
	@echo "make paper   repeat the experiments of the paper into reproduction/ (PAPER='--only 2,3': some of the datasets)"
	@echo "make figures draw the pictures in docs/images again, with a browser for those of the explorer"
	@echo "make test    run the tests (set SHAPELEX_DATA to run those on real shapes too)"
	@echo "make test-random  run the property tests on random examples (SHAPELEX_TEST_EXAMPLES of each, 60 by default)"
	@echo "make test-oldest  run the tests with the oldest declared versions of all dependencies"
	@echo "make fuzz    read damaged copies of files of every kind, N=20000 in all"
	@echo "make lint    ruff, mypy, import-linter, numpydoc, codespell, budgets of lines; ESLint and tsc where npm is installed"
	@echo "make bench   print every table of measurements in README and docs (BENCHMARKS=--list: the single ones)"
	@echo "make docs    build the documentation into docs/_build/html"
	@echo "make dist    build the wheel and the source archive into dist/, and try the wheel in an empty environment"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip

# One stamp per dependency group: installed once, and again when pyproject.toml changes.
$(VENV)/%.stamp: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable . --group $*
	@touch $@

# The same for an extra of the package.
$(VENV)/extra-%.stamp: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable ".[$*]"
	@touch $@

demo: $(VENV)/extra-report.stamp
	$(BIN)/shapelex demo -o demo --force

# The table and the figures of the paper; its datasets are downloaded.
paper: $(VENV)/extra-report.stamp
	PYTHONPATH=benchmarks $(BIN)/python -m paper -o reproduction $(PAPER)

# All other pictures of the documentation are drawn when it is built. The kept ones are shown by the README or need a
# browser, in which the page of the explorer is opened.
figures: $(VENV)/test.stamp
	$(BIN)/python docs/make_images.py

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-random: $(VENV)/test.stamp
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m hypothesis --hypothesis-profile=random

test-oldest:
	$(PYTHON) -m venv --clear .venv-oldest
	$(PYTHON) .ci/oldest.py > .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pip --disable-pip-version-check --quiet install --upgrade pip
	.venv-oldest/bin/python -m pip --disable-pip-version-check --quiet install \
		--constraint .venv-oldest/constraints.txt --editable . --group test
	.venv-oldest/bin/python -m pytest $(PYTEST_ARGS)

# Damaged copies of files of every kind, N in all: only documented errors, in bounded time and memory.
N ?= 20000
fuzz: $(VENV)/test.stamp
	$(BIN)/python -m tests.fuzz_all --cases $(N)

lint: $(VENV)/lint.stamp $(VENV)/test.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/check_docstrings.py
	$(BIN)/python .ci/check_size.py
	$(BIN)/codespell
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory lint-page; \
	else echo "npm is not installed: the JavaScript of the page is not checked" >&2; fi

# The JavaScript of the explorer page, by ESLint and the type checker of TypeScript.
JAVASCRIPT := .ci/javascript
lint-page: $(JAVASCRIPT)/node_modules/.stamp
	$(JAVASCRIPT)/node_modules/.bin/eslint --config $(JAVASCRIPT)/eslint.config.js src/shapelex/report/page
	$(JAVASCRIPT)/node_modules/.bin/tsc --project $(JAVASCRIPT)/tsconfig.json

$(JAVASCRIPT)/node_modules/.stamp: $(JAVASCRIPT)/package.json
	npm install --prefix $(JAVASCRIPT) --no-audit --no-fund --silent
	@touch $@

format: $(VENV)/lint.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The peers pin old versions of what we use, so they live in an environment of their own.
bench:
	@$(MAKE) --no-print-directory VENV=.venv-bench .venv-bench/peers.stamp
	.venv-bench/bin/python benchmarks/run.py $(BENCHMARKS)

# Each peer is installed on its own: without one that has no package for this platform, the others still run.
$(VENV)/peers.stamp: $(VENV)/bench.stamp
	@for peer in dictlearn geomstats spams; do \
		$(PIP) install --group $$peer || echo "$$peer cannot be installed here: its rows will be skipped" >&2; \
	done
	@touch $@

docs: $(VENV)/docs.stamp
	$(BIN)/sphinx-build -W --keep-going -n -b html docs docs/_build/html

# The wheel is built from the source archive. It must work with its core dependencies alone, and the demo with one extra,
# away from the source tree.
dist: $(VENV)/dist.stamp
	rm -rf dist .venv-dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv .venv-dist
	$(DIST_PIP) install dist/shapelex-*.whl
	.venv-dist/bin/shapelex --help > /dev/null
	.venv-dist/bin/shapelex demo -o dist/demo 2>&1 | grep -F 'pip install "shapelex[report]"'
	$(DIST_PIP) install "$$(echo dist/shapelex-*.whl)[report]"
	cd dist && ../.venv-dist/bin/shapelex demo
	rm -rf dist/demo .venv-dist

clean:
	rm -rf $(VENV) .venv-bench .venv-dist .venv-oldest demo docs/_build docs/gallery docs/tutorials docs/reference/backreferences docs/reference/generated dist $(JAVASCRIPT)/node_modules
