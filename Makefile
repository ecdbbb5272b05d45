# Emberpool's commands; each sets up what it needs by itself.
.DEFAULT_GOAL := help
PYTHON ?= python3
PORT ?= 8501
ADDRESS ?= 127.0.0.1
DATA ?=
export PYTHON PORT ADDRESS DATA

BIN := .venv/bin
READY := .venv/.ready
SLOW_READY := .venv/.ready-slow
COMPILED := .venv/.compiled

.PHONY: help setup run test check slow study bench golden

help: # list these targets
	@awk -F ':.*# ' '/^[a-z]+:.*# / { printf "make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) # the environment only: .venv from the pinned requirements
	@:

$(READY): requirements.txt requirements-dev.txt constraints.txt scripts/setup.sh
	@sh scripts/setup.sh requirements-dev.txt
	@touch $@

$(SLOW_READY): $(READY) requirements-slow.txt requirements-dask.txt
	@sh scripts/setup.sh requirements-slow.txt
	@sh scripts/setup.sh requirements-dask.txt
	@touch $@

$(COMPILED): $(READY) $(shell find engine -name '*.py')
	@echo "Compiling the engine's kernels; about a minute, once."
	@find engine -name '*.nb[ic]' -delete # numba does not notice a kernel that changed in another file
	@$(BIN)/python scripts/compile.py
	@touch $@

run: $(COMPILED) # the explorer on http://localhost:8501 (PORT= another port, DATA= a Criteo file to train on)
	@[ -z "$$DATA" ] || [ -r "$$DATA" ] || { echo "DATA=$$DATA cannot be read; give a Criteo file, plain or .gz." >&2; exit 2; }
	@$(BIN)/streamlit run app.py --server.address "$$ADDRESS" --server.port "$$PORT" -- $${DATA:+--data "$$DATA"}

test: $(COMPILED) # all tests, those in the browser included, a file at a time on up to four cores
	@sh scripts/chromium.sh
	@$(BIN)/python -m pytest -m "not slow" -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

check: $(READY) # format, lint, types, import layers, budgets
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/test_house.py

slow: $(SLOW_READY) # the long suites, 20 minutes of processor time; installs PyTorch and libCacheSim, their oracles, and Dask
	@sh scripts/chromium.sh
	@$(BIN)/python -m pytest -m slow

study: $(COMPILED) # both accuracy studies anew, 40 minutes on two free cores; they keep finished seeds
	@$(BIN)/python -m engine study accuracy
	@$(BIN)/python -m engine study protections

bench: $(READY) # speed beside whichever peers are installed (benchmarks/requirements.txt)
	@$(BIN)/python -m engine bench

golden: $(READY) # rewrite the golden files and print what changed
	@$(BIN)/python -m pytest -m "not slow and not browser" --golden -k golden
	@git --no-pager diff --stat -- tests/golden
	@git --no-pager diff -- tests/golden
