# Bare `make` lists the targets.
PYTHON ?= python3
PROMPT ?= Once upon a time
CORPUS ?= corpus
BIN := .venv/bin

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: .venv/glass ## make .venv, install glass, continue PROMPT="…"
	@$(BIN)/glass generate "$(PROMPT)"

test: .venv/dev ## everything but the comparison with transformers, with coverage of glasscli/
	$(BIN)/python -m pytest -q -m "not parity" --cov --cov-report=term:skip-covered

parity: .venv/parity ## compare with transformers (installs torch for the CPU)
	$(BIN)/python -m pytest -q -m parity

lint: .venv/dev ## ruff: rules and format
	$(BIN)/ruff check --output-format concise .
	$(BIN)/ruff format --check .

types: .venv/dev ## mypy, strict
	$(BIN)/mypy

check: lint types test ## what to run before a commit

# New weights also need `python tests/golden/make_greedy.py`, in an environment with torch.
golden: man ## write the stored screens, the README's outputs and terminal, and the manual page anew
	$(BIN)/python tests/golden/make.py
	$(BIN)/python tests/readme_examples.py
	$(BIN)/python tests/terminal_picture.py

man: .venv/glass ## write the manual page cli/help/glass.1 anew
	$(BIN)/glass help --man > glass.1.part
	mv glass.1.part cli/help/glass.1

oracle: .venv/parity ## compare cache sizes with live transformers models
	$(BIN)/python tests/oracle.py

robustness: .venv/dev ## try to break it: changed files, odd arguments, signals, many at once (minutes)
	$(BIN)/python tests/robustness.py

bench: .venv/bench ## speed beside every peer that can be installed: ratios of medians; GGUF="FILE…" too
	$(BIN)/python tests/bench/run.py $(GGUF)

weights: .venv/parity ## train the shipped model from CORPUS=folder (hours on a CPU; resumes)
	$(BIN)/python -m weights.recipe $(CORPUS)

clean: ## remove .venv and caches
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info

.venv/glass: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install -qq --editable .
	@touch $@

.venv/dev: .venv/glass
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

# torch first and alone: what depends on it would otherwise bring a build of several gigabytes.
.venv/parity: .venv/dev
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --group parity
	@touch $@

.venv/bench: .venv/parity
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m pip install --quiet --group llama || echo "llama.cpp could not be built: no numbers for it"
	@touch $@

.PHONY: help run test parity lint types check golden man oracle robustness bench weights clean
.DEFAULT_GOAL := help
