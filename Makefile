# Emberpool's commands; each sets up what it needs by itself.
.DEFAULT_GOAL := help
PYTHON ?= python3
PORT ?= 8501
ADDRESS ?= 127.0.0.1
ALLOW ?=
DATA ?=
PARTS ?=
PRESETS ?=
NAME ?=
SEED ?=
RECORD ?=
export PYTHON PORT ADDRESS ALLOW DATA PARTS PRESETS NAME SEED RECORD

BIN := .venv/bin
# What is installed: one stamp for each set of packages, so that no target waits for those of another.
RUN := .venv/.ready-run
TEST := .venv/.ready-test
SLOW := .venv/.ready-slow
COMPILED := .venv/.compiled
INSTALL = @sh scripts/setup.sh $(filter requirements%,$^) && touch $@
# Compiled files are kept, whatever the shell says: without them each process takes seconds longer to start.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n auto --maxprocesses 4 --dist loadfile

DOCS := .venv/.ready-docs
# One after the other, by `make slow`; slow-release last, as it is the one that asks for the stamps of the others.
JOBS := slow-engine slow-training slow-store slow-pages slow-oracles slow-release
.PHONY: help setup run test test-one check lock house slow $(JOBS) study bench golden docs

help: # list these targets
	@awk -F ':.*# ' '/^[a-z-]+:.*# / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(TEST) # the environment only: .venv with all that running, testing and checking need
	@:

$(RUN): scripts/setup.sh requirements.txt locked/requirements.txt
	$(INSTALL)

$(TEST): $(RUN) requirements-dev.txt locked/requirements-dev.txt
	$(INSTALL)

$(SLOW): $(TEST) requirements-slow.txt requirements-dask.txt requirements-torchrec.txt
	@sh scripts/setup.sh requirements-dask.txt
	@sh scripts/setup.sh requirements-slow.txt
	@ALONE=yes sh scripts/setup.sh requirements-torchrec.txt && touch $@

$(DOCS): $(RUN) requirements-docs.txt locked/requirements-docs.txt
	$(INSTALL)

$(COMPILED): $(RUN) $(shell find engine -name '*.py')
	@echo "Compiling the engine's kernels; some twenty seconds, once."
	@$(BIN)/python scripts/compile.py >/dev/null
	@touch $@

run: $(RUN) # the explorer; the printed address carries its token (PORT= ADDRESS= ALLOW= names, DATA= a file or folder, PARTS= a folder of parts, PRESETS= of presets)
	@$(BIN)/python explorer.py --address="$$ADDRESS" --port="$$PORT" --allow="$$ALLOW" --data="$$DATA" --parts="$$PARTS" --presets="$$PRESETS"

test: $(TEST) $(COMPILED) # the tests of every day, one job in the browser included; minutes: ten on two slow cores (RECORD=yes stamps them)
	@sh scripts/chromium.sh
	@$(PYTEST) -m "not slow" $${RECORD:+--record} $(PARALLEL) --no-loadscope-reorder

test-one: $(TEST) $(COMPILED) # what concerns one system, device, fault, metric, knob, ...: make test-one NAME=cxl
	@[ -n "$$NAME" ] || { echo "make test-one needs a name; try make test-one NAME=cxl." >&2; exit 2; }
	@$(PYTEST) --about "$$NAME" -m "not slow and not browser" $(PARALLEL)

check: $(TEST) # format, lint, types, import layers, limits of size, names, documents
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/fences/test_house.py tests/fences/test_typed.py tests/fences/test_names.py tests/fences/test_patched_names.py tests/fences/test_documents.py tests/fences/test_locked.py
	@$(BIN)/python scripts/pictures.py --check
	@$(BIN)/python -m tests.stamps

lock: $(TEST) # renew the hashes in locked/ after a change of requirements or constraints.txt; asks the package index
	@sh scripts/lock.sh

house: $(TEST) # print the table of rooms: files, lines, lines of code
	@$(BIN)/python -m tests.house

slow: # the six jobs below, one after the other: long suites, all cases, new examples (SEED= repeats them); installs the peers
	@failed=""; for job in $(JOBS); do $(MAKE) --no-print-directory $$job || failed="$$failed $$job"; done; \
	[ -z "$$failed" ] || { echo "Failed:$$failed." >&2; exit 1; }

slow-engine: # estimates, schedules, systems, sweeps, decisions: all that no other job has
slow-training: # training, histories, data, full runs, validation
slow-store: # store, service, faults, crash states, killed processes
slow-pages: # every page, in the browser and without
slow-oracles: # beside PyTorch, TorchRec, SimPy, libCacheSim and Dask
slow-release: # the package under each Python, its oldest and newest requirements, commands, documents
$(JOBS): $(SLOW) $(COMPILED)
	@sh scripts/chromium.sh
	@$(PYTEST) --job $@ --all -m "slow or more" $${SEED:+--hypothesis-seed="$$SEED"} $(PARALLEL) --no-loadscope-reorder

study: $(COMPILED) # the accuracy studies anew, 55 minutes on two free cores; they keep finished seeds
	@$(BIN)/python -m engine study accuracy
	@$(BIN)/python -m engine study protections
	@$(BIN)/python -m engine study rollbacks

bench: $(TEST) # speed beside whichever peers are installed (benchmarks/requirements.txt)
	@$(BIN)/python -m engine bench

docs: $(DOCS) # the documentation as a site in site/, without a network
	@$(BIN)/mkdocs build --quiet
	@echo "Open site/tour/index.html"

golden: $(TEST) # rewrite the golden files and print what changed
	@$(BIN)/python -m pytest -m "not slow and not browser" --golden -k golden
	@git --no-pager diff --stat -- tests/golden
	@git --no-pager diff -- tests/golden
