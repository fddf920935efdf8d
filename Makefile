# `make demo` and `make test` need Python 3.11+, pip and make, and do the rest themselves.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test test-again test-litellm lint format wheel bench bench-regret bench-drift bench-studies bench-traffic bench-verdicts bench-segments bench-service bench-dashboard screenshots bench-data \
	service-long torture clean
.DEFAULT_GOAL := demo

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "Installing satisfice into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --editable '.[live]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "Installing satisfice and what its tests need into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	@echo "Five million pulls, 20 runs of each policy (the first time, each policy is compiled for some seconds):"
	$(BIN)/satisfice run --instance movielens --setting best --alpha 0.25 --policy glr --policy 'pe-cs(kappa=5)' \
		--policy ts-cs --policy etc-cs --horizon 5e6 --runs 20 --seed 0 --out demo
	@echo "A small version of every experiment of the paper:"
	$(BIN)/satisfice reproduce --quick --out demo/paper

# Bytecode is written: the tests start hundreds of processes.
test: $(VENV)/.installed-dev
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 3 --dist worksteal

# The tests that failed last, one after the other.
test-again: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none -p no:xdist

# LiteLLM and its proxy have an environment of their own: they weigh more than all the rest.
LITELLM = .venv-litellm
$(LITELLM)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	@echo "Installing satisfice, LiteLLM and its proxy into $(LITELLM) ..."
	$(PYTHON) -m venv $(LITELLM)
	$(LITELLM)/bin/python -m pip install --quiet --upgrade pip
	$(LITELLM)/bin/python -m pip install --quiet --editable '.[litellm,serve]' 'litellm[proxy]' pytest
	@touch $@

test-litellm: $(LITELLM)/.installed
	LITELLM_LOCAL_MODEL_COST_MAP=True $(LITELLM)/bin/python -m pytest -o addopts= -o pythonpath='tests examples' -q -W ignore \
		$(AGAIN) --confcutdir=tests/with_litellm --doctest-modules tests/with_litellm src/satisfice/integrations/litellm src/satisfice/integrations/routing

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/python tools/stub.py
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	@echo "Installing what the documentation needs into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

# The documentation as a site in site/, strictly: a dead link, or a public name without a docstring, is an error.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "site/index.html"

# Built, installed into an empty environment, and used from a folder without the repository.
wheel: $(VENV)/.installed-dev
	$(BIN)/python tools/wheel.py

bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/scale.py --memory
	$(BIN)/python benchmarks/speed.py

bench-regret: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/regret.py
	$(BIN)/python benchmarks/reliability.py
	$(BIN)/python benchmarks/bayes.py
	$(BIN)/python benchmarks/possible.py

bench-drift: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/drift.py

bench-studies: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/studies.py

bench-traffic: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/traffic.py

bench-service: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/service.py

# LiteLLM's router and proxy with made-up models behind them: dollars and quality, and what the callback adds to a call.
bench-llm: $(LITELLM)/.installed
	$(LITELLM)/bin/python benchmarks/litellm_routing.py

# Replicas that are killed for 100,000 decisions, and four minutes of calls that schemathesis makes up.
service-long: $(VENV)/.installed-dev
	SATISFICE_DECISIONS=100000 SATISFICE_SCHEMATHESIS=240 $(BIN)/python -m pytest -x -p no:xdist \
		tests/service/test_replicas.py tests/service/test_schemathesis.py

# A study with 13 arms and a million decisions: about ten minutes, most of them to make it.
bench-dashboard: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/dashboard.py

# Every screen of the dashboard, light and dark, on a phone and on a desk, into screenshots/ (needs chromium).
screenshots: $(VENV)/.installed-dev
	$(BIN)/python tools/screenshots.py

bench-segments: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/segments.py --out docs/images/segments.png $(if $(FILE),--file $(FILE))

bench-verdicts: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/verdicts.py

# Killed, stopped and interrupted writers, lost answers, full disks: an hour or so.
torture: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/torture.py

bench-data: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/instances.py

clean:
	rm -rf $(VENV) $(LITELLM) demo results reproduction screenshots
