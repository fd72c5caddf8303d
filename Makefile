# Every target sets up what it needs in .venv; nothing else on the machine is touched.

PYTHON ?= python3
# for pip install: where torch's CPU build is not the default, for example
#   make demo PIP_ARGS='--extra-index-url https://download.pytorch.org/whl/cpu'
PIP_ARGS ?=
# what is installed of setup.cfg's extras
EXTRAS ?= all,dev
# test processes: one more than a small machine has cores, as many tests wait for processes that they start
WORKERS ?= 3
# one thread: for a model this small a second one waits more than it works, and on a busy machine
# two that wait for each other are many times slower
export OMP_NUM_THREADS ?= 1
# keep freed memory: glibc would give each large tensor back to the kernel and fetch it again, page by
# page, which takes up to 40% of the time of training on a CPU
export MALLOC_MMAP_THRESHOLD_ ?= 1073741824
export MALLOC_TRIM_THRESHOLD_ ?= 4294967296
export MALLOC_TOP_PAD_ ?= 268435456
# keep bytecode, also where an image says not to: tests start hundreds of processes, each of which would
# compile the package again
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed
PYTEST := HF_HUB_OFFLINE=1 $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-long test-numeric lint docs stubs dist bench results results-quick clean

help:
	@echo 'make setup     .venv with what the other targets need'
	@echo 'make demo      set up, train two agents to solve problems together, leave runs/demo'
	@echo 'make test      set up and run the fast tests: 4 to 6 minutes on two cores'
	@echo 'make test-all  every test but the long ones, as CI does, with coverage: 30 to 35 minutes'
	@echo 'make test-long  the few tests that cannot be shorter; fetches a model'
	@echo 'make test-numeric  tests of equal numbers, in every arithmetic of this processor'
	@echo 'make lint      ruff and mypy'
	@echo 'make docs      the documentation as a site: site/index.html'
	@echo 'make stubs     protobuf messages of llmzoo/serve/protos, regenerated'
	@echo 'make dist      a wheel and a source distribution in dist/, checked'
	@echo 'make bench     speed of environments, sampling and the sandbox: bench.json'
	@echo 'make results   every run behind docs/results, and its tables and figures: hours'
	@echo 'make results-quick  small versions of them in runs/results-quick: minutes'
	@echo 'make clean     remove .venv, .bench, site, caches, .coverage and bench.json; runs/ stays'

$(READY): setup.cfg pyproject.toml constraints.txt
	@echo 'setting up $(VENV)' >&2
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile $(PIP_ARGS) \
		-e '.[$(EXTRAS)]' -c constraints.txt
	@touch $@

# .devcontainer/ calls it too
setup: $(READY)

# the last line of output is the JSON object of llmzoo train
demo: $(READY)
	@rm -rf runs/demo
	@$(BIN)/llmzoo train --config configs/demo.yaml --json

# each file's tests run on one worker: tests/conftest.py
test: $(READY)
	@$(PYTEST) -n $(WORKERS) -m 'not slow and not long'

# what CI runs; ends with the coverage of the package
test-all: $(READY)
	@$(PYTEST) -n $(WORKERS) -m 'not long' --cov --cov-report=; code=$$?; \
		$(BIN)/python tests/coverage_table.py; exit $$code

# what cannot be shortened; docs/testing.md lists it
test-long: $(READY)
	@$(BIN)/llmzoo fetch smollm2
	@$(PYTEST) -n $(WORKERS) -m long

# numbers that rounding changes, with every kind of instructions and one and two threads
test-numeric: $(READY)
	@HF_HUB_OFFLINE=1 $(BIN)/python tests/numeric.py

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# warnings are errors
docs: $(READY)
	@$(BIN)/python docs/_site/build.py site

# the folder of the stubs stands for that of the protos, so that the stubs import one another from there
stubs: $(READY)
	@$(BIN)/python -m grpc_tools.protoc -Illmzoo/serve/generated=llmzoo/serve/protos \
		--python_out=. --pyi_out=. \
		$(patsubst llmzoo/serve/protos/%,llmzoo/serve/generated/%,$(wildcard llmzoo/serve/protos/*.proto))

# the tools come from the extra release; docs/releasing.md says what follows
dist: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[release]' -c constraints.txt
	@rm -rf dist
	@$(BIN)/python scripts/build_dist.py dist
	@$(BIN)/twine check --strict dist/*
	@$(BIN)/check-wheel-contents dist/*.whl

bench: $(READY)
	@$(BIN)/python examples/benchmark/run.py --out bench.json

# what has ended is not repeated, so that a call that was cut off may be given again
STUDIES := games ablations learners learners_rates learners_rates_long sensitivity longer games_rates games_long \
	games_cells games_cells_rates games_cells_long kuhn tic_tac_toe counterfactual several several_longer \
	crowd_hidden_profile crowd_delegation coverage
RESULTS := $(BIN)/python examples/results

results: $(READY)
	@$(RESULTS)/study.py $(STUDIES) --jobs 2 --out runs/results
	@$(RESULTS)/crossplay.py several --out runs/results
	@mkdir -p docs/results/logs && cp runs/results/*.jsonl.gz docs/results/logs/
	@$(RESULTS)/tables.py

results-quick: $(READY)
	@$(RESULTS)/study.py $(filter-out %_longer %_rates %_long coverage,$(STUDIES)) --quick --jobs 2 --out runs/results-quick
	@$(RESULTS)/tables.py --logs runs/results-quick --out runs/results-quick/tables

clean:
	@rm -rf $(VENV) .bench *.egg-info build dist site bench.json .coverage* .pytest_cache .ruff_cache .mypy_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
