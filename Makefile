# Emberpool's commands; each sets up what it needs by itself.
.DEFAULT_GOAL := help
PYTHON ?= python3
PORT ?= 8501
ADDRESS ?= 127.0.0.1
DATA ?=
NAME ?=
SEED ?=
export PYTHON PORT ADDRESS DATA NAME SEED

BIN := .venv/bin
READY := .venv/.ready
SLOW_READY := .venv/.ready-slow
COMPILED := .venv/.compiled
# Tests keep their compiled files, whatever the shell says: it halves the time that each process takes to find them.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
PARALLEL := -n auto --maxprocesses 4 --dist loadfile

.PHONY: help setup run test test-one check slow study bench golden

help: # list these targets
	@awk -F ':.*# ' '/^[a-z-]+:.*# / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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
	@echo "Compiling the engine's kernels; some twenty seconds, once."
	@$(BIN)/python scripts/compile.py
	@touch $@

run: $(COMPILED) # the explorer on http://localhost:8501 (PORT= another port, DATA= a Criteo file to train on)
	@[ -z "$$DATA" ] || [ -r "$$DATA" ] || { echo "DATA=$$DATA cannot be read; give a Criteo file, plain or .gz." >&2; exit 2; }
	@$(BIN)/streamlit run app.py --server.address "$$ADDRESS" --server.port "$$PORT" -- $${DATA:+--data "$$DATA"}

test: $(COMPILED) # the tests of every day, one job in the browser included; two to three minutes on two cores
	@sh scripts/chromium.sh
	@$(PYTEST) -m "not slow" $(PARALLEL) --no-loadscope-reorder

test-one: $(COMPILED) # what concerns one system, device, fault, metric, knob, ...: make test-one NAME=cxl
	@[ -n "$$NAME" ] || { echo "make test-one needs a name; try make test-one NAME=cxl." >&2; exit 2; }
	@$(PYTEST) --about "$$NAME" -m "not slow and not browser" $(PARALLEL)

check: $(READY) # format, lint, types, import layers, budgets
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/fences/test_house.py

slow: $(SLOW_READY) $(COMPILED) # long suites, all cases, new examples (SEED= repeats them); installs PyTorch, libCacheSim, Dask
	@sh scripts/chromium.sh
	@$(PYTEST) --all -m "slow or more" $${SEED:+--hypothesis-seed="$$SEED"} $(PARALLEL) --no-loadscope-reorder

study: $(COMPILED) # both accuracy studies anew, 40 minutes on two free cores; they keep finished seeds
	@$(BIN)/python -m engine study accuracy
	@$(BIN)/python -m engine study protections

bench: $(READY) # speed beside whichever peers are installed (benchmarks/requirements.txt)
	@$(BIN)/python -m engine bench

golden: $(READY) # rewrite the golden files and print what changed
	@$(BIN)/python -m pytest -m "not slow and not browser" --golden -k golden
	@git --no-pager diff --stat -- tests/golden
	@git --no-pager diff -- tests/golden
