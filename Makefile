# Everything below needs only Python >= 3.11, make and a package index: each target makes the environment it needs.
# Variables: PYTHON=python3.12 (interpreter), VENV=.venv, CONSTRAINTS=constraints/ci.txt, PYTEST_ARGS="-n 2".

VENV ?= .venv
CONSTRAINTS ?= constraints/ci.txt
PYTEST_ARGS ?= -n 2

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# The build backend is installed (pinned) beside the package instead of being fetched anew for each build,
# so the setuptools and the wheel that an interpreter happens to bring along do not matter.
INSTALL := $(PIP) install --quiet --quiet --constraint $(CONSTRAINTS)
EDITABLE := $(INSTALL) --no-build-isolation --editable

# What the shell exports must not leak other packages into the environment.
unexport PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX

.DEFAULT_GOAL := help
.PHONY: help demo test test-plain lint format experiments experiments-quick docs test-oldest test-newest dist clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.runtime  ## install, then learn from the embedded collection and show how it went
	@$(BIN)/tiltfit demo

test: $(VENV)/.test  ## run the tests
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

# Tests of the kernels and of what calls them most directly, with the inner loops of kernels/plain.
PLAIN_TESTS ?= tests/kernels tests/inference tests/features tests/optimize
test-plain: $(VENV)/.test  ## run the tests of the kernels with the plain inner loops (TILTFIT_KERNELS=plain)
	@TILTFIT_KERNELS=plain $(BIN)/python -m pytest $(PYTEST_ARGS) $(PLAIN_TESTS)

lint: $(VENV)/.dev  ## check style, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## put the sources into the project's style
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

experiments: $(VENV)/.experiments  ## run all experiments on the data below TILTFIT_DATA; write docs/ and README
	@$(BIN)/python -m experiments

experiments-quick: $(VENV)/.experiments  ## run a small part of each experiment, where its data are here
	@$(BIN)/python -m experiments --quick

# Always from the beginning: what a page shows depends on all sources, and Sphinx knows of the page alone.
docs: $(VENV)/.docs  ## run the examples of the pages and build them into build/docs
	@env -u TILTFIT_DATA $(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --nitpicky --fresh-env \
		--doctree-dir build/doctrees docs build/docs
	@echo "No warnings. Open build/docs/index.html"

test-oldest:  ## run the tests with the lowest supported versions
	@$(MAKE) --no-print-directory test VENV=.venv-oldest CONSTRAINTS=constraints/oldest.txt NEWEST_PYTHON=3.11

test-newest:  ## run the tests with the highest supported versions (needs Python >= 3.12)
	@$(MAKE) --no-print-directory test VENV=.venv-newest CONSTRAINTS=constraints/newest.txt OLDEST_PYTHON=3.12

dist: $(VENV)/.runtime  ## build sdist and wheel into dist/; try both in empty environments, oldest and newest Python
	@rm -rf dist
	@$(BIN)/python -m hatchling build --target sdist --directory dist
	@$(PIP) wheel --quiet --quiet --no-deps --no-build-isolation --wheel-dir dist dist/*.tar.gz
	@sh .ci/try-dist dist

clean:  ## remove environments, builds and caches
	rm -rf .venv .venv-oldest .venv-newest build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- environments: a stamp says what is installed, and is out of date when the project or its pins change -------------

INPUTS := pyproject.toml $(CONSTRAINTS)

$(VENV)/.runtime: $(VENV)/.python $(INPUTS)
	@echo "Installing tiltfit into $(VENV) ..."
	@$(INSTALL) hatchling
	@$(EDITABLE) .
	@touch $@

$(VENV)/.test: $(VENV)/.runtime
	@echo "Installing what the tests need into $(VENV) ..."
	@$(INSTALL) setuptools setuptools-scm  # the build backend of seqeval, which comes as sources only
	@$(EDITABLE) ".[test]"
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	@echo "Installing the linters into $(VENV) ..."
	@$(EDITABLE) ".[dev]"
	@touch $@

$(VENV)/.experiments: $(VENV)/.runtime
	@$(EDITABLE) ".[plot]"
	@touch $@

$(VENV)/.docs: $(VENV)/.runtime
	@echo "Installing what the documentation needs into $(VENV) ..."
	@$(EDITABLE) ".[docs]"
	@touch $@

OLDEST_PYTHON ?= 3.11
NEWEST_PYTHON ?= 3.13
$(VENV)/.python:
	@python=$$(OLDEST=$(OLDEST_PYTHON) NEWEST=$(NEWEST_PYTHON) PYTHON="$(PYTHON)" sh .ci/find-python) \
		&& echo "Creating $(VENV) with $$python ..." \
		&& "$$python" -m venv --clear $(VENV)
	@touch $@
