# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# `make demo` and `make test` are all that a newcomer needs; both set up what they use.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PRESET ?= base
BOARD ?= ulx3s
SEEDS ?= 3
CLOCK ?=
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test setup lint types sim fp formal synth synth-check verilog bitstream bench clean check-tools

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

check-tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "castbag needs Python 3.11 or newer: install it, or say make PYTHON=..." >&2; exit 3; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "castbag needs Python's venv: apt-get install python3-venv" >&2; exit 3; }
	@for tool in g++:g++ perl:perl; do command -v $${tool%%:*} >/dev/null || \
	  { echo "castbag's simulator needs $${tool%%:*}: apt-get install $${tool##*:}" >&2; exit 3; }; done

# One stamp a set of extras: each is installed once, and again when pyproject.toml changes.
$(VENV)/bin/python:
	@$(MAKE) --no-print-directory check-tools
	$(PYTHON) -m venv $(VENV)

$(VENV)/ready-%: pyproject.toml | $(VENV)/bin/python
	@$(MAKE) --no-print-directory check-tools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.$(if $(filter core,$*),,[$*])'
	@touch $@

# PyPI's PyTorch brings gigabytes of CUDA, so only a build for the CPU is taken, where pip finds one:
# with PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL. Without it, the tests that compare with it are skipped.
$(VENV)/ready-torch: pyproject.toml | $(VENV)/bin/python
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[torch]'; then touch $@; \
	  else echo "PyTorch's build for the CPU is not installed: tests against it are skipped" >&2; fi

demo: $(VENV)/ready-core ## Train one step on real text in the RTL, and compare the dataflows
	$(BIN)/castbag demo

test: $(VENV)/ready-core $(VENV)/ready-test $(VENV)/ready-formal $(VENV)/ready-torch ## Run all tests
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

setup: $(addprefix $(VENV)/ready-,core test formal lint synth bench torch) ## Install everything

lint: $(VENV)/ready-lint ## Check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready-core $(VENV)/ready-lint ## Check types
	@mkdir -p build/typing/castbag
	@for folder in boards golden host rtl sim; do ln -sfn ../../../$$folder build/typing/castbag/$$folder; done
	$(BIN)/basedpyright --pythonpath $(BIN)/python

sim: $(VENV)/ready-core $(VENV)/ready-test ## Run the benches of the RTL alone
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m bench

fp: $(VENV)/ready-core $(VENV)/ready-test ## Compare ten million operand pairs a floating-point unit
	FP_PAIRS=10000000 $(BIN)/python -m pytest tests/test_fp.py -k many

formal: $(VENV)/ready-core $(VENV)/ready-test $(VENV)/ready-formal ## Prove the merge cell and the queue
	$(BIN)/python -m pytest tests/test_formal.py

synth: $(VENV)/ready-core $(VENV)/ready-synth ## Synthesise every unit for ECP5 into boards/budget.json
	$(BIN)/python -m castbag.boards.budget

synth-check: $(VENV)/ready-core $(VENV)/ready-synth ## The same, but compare: fail if a figure rose
	$(BIN)/python -m castbag.boards.budget --check

verilog: $(VENV)/ready-core ## Write the core of PRESET as build/castbag.v
	@mkdir -p build
	$(BIN)/castbag emit --preset $(PRESET) -o build/castbag.v

bitstream: $(VENV)/ready-core $(VENV)/ready-synth ## Build BOARD's bitstream (BOARD=ulx3s, CLOCK=50) into build/boards
	$(BIN)/python -m castbag.boards.build --seeds $(SEEDS) $(if $(CLOCK),--clock $(CLOCK)) $(BOARD)

bench: $(VENV)/ready-core $(VENV)/ready-synth $(VENV)/ready-bench ## Measure sorting and memory, place and time every unit and board; writes build/bench
	$(BIN)/python -m castbag.host.bench.sort
	$(BIN)/python -m castbag.host.bench.memory
	$(BIN)/python -m castbag.boards.budget --place
	$(BIN)/python -m castbag.boards.build --seeds $(SEEDS) --all

clean: ## Remove what was built, the environment too
	rm -rf build $(VENV) *.egg-info
