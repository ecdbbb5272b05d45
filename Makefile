# Emberpool's commands; each sets up what it needs by itself.
.DEFAULT_GOAL := help
PYTHON ?= python3
PORT ?= 8501
ADDRESS ?= 127.0.0.1
ALLOW ?=
DATA ?=
PARTS ?=
NAME ?=
SEED ?=
export PYTHON PORT ADDRESS ALLOW DATA PARTS NAME SEED

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
.PHONY: help setup run test test-one check lock house slow study bench golden docs

help: # list these targets
	@awk -F ':.*# ' '/^[a-z-]+:.*# / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

run: $(RUN) # the explorer; the printed address carries its token (PORT= ADDRESS= ALLOW= names, DATA= a file or folder, PARTS= a folder of parts)
	@$(BIN)/python explorer.py --address="$$ADDRESS" --port="$$PORT" --allow="$$ALLOW" --data="$$DATA" --parts="$$PARTS"

test: $(TEST) $(COMPILED) # the tests of every day, one job in the browser included; minutes: ten on two slow cores
	@sh scripts/chromium.sh
	@$(PYTEST) -m "not slow" $(PARALLEL) --no-loadscope-reorder

test-one: $(TEST) $(COMPILED) # what concerns one system, device, fault, metric, knob, ...: make test-one NAME=cxl
	@[ -n "$$NAME" ] || { echo "make test-one needs a name; try make test-one NAME=cxl." >&2; exit 2; }
	@$(PYTEST) --about "$$NAME" -m "not slow and not browser" $(PARALLEL)

check: $(TEST) # format, lint, types, import layers, limits of size, names, documents
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/fences/test_house.py tests/fences/test_typed.py tests/fences/test_names.py tests/fences/test_patched_names.py tests/fences/test_documents.py tests/fences/test_locked.py
	@$(BIN)/python scripts/pictures.py --check

lock: $(TEST) # renew the hashes in locked/ after a change of requirements or constraints.txt; asks the package index
	@sh scripts/lock.sh

house: $(TEST) # print the table of rooms: files, lines, lines of code
	@$(BIN)/python -m tests.house

slow: $(SLOW) $(COMPILED) # long suites, all cases, new examples (SEED= repeats them); installs PyTorch, TorchRec, libCacheSim, Dask
	@sh scripts/chromium.sh
	@$(PYTEST) --all -m "slow or more" $${SEED:+--hypothesis-seed="$$SEED"} $(PARALLEL) --no-loadscope-reorder

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
