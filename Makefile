# Two commands on a machine with only python3 (3.11 or newer), pip and make: `make demo` and `make test`.
# Everything they need goes into .venv, at the versions of constraints.txt.

PYTHON ?= python3
VENV   := .venv
BIN    := $(CURDIR)/$(VENV)/bin
DEMO   := $(CURDIR)/build/demo

export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE  # each process would compile all anew, and a run of the tests starts hundreds

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test tests laws check format docs figures readme clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1 — /p' Makefile

demo: $(VENV)/.all  ## an agent reads a file with a real model, and the talk is shown in three wire formats
	@mkdir -p $(DEMO) && rm -f $(DEMO)/hello.json
	@echo "== 1 of 4: the model. SmolLM2-135M-Instruct, 98 MB, fetched once and kept in your data folder"
	$(BIN)/dragoman local install --yes
	@echo "== 2 of 4: an agent reads a file, live. The first step must call a tool; what and how is the model's choice"
	cd examples/hello && $(BIN)/dragoman run --model local \
		"Read README.md and tell me how to start this project." --save $(DEMO)/hello.json
	@echo "== 3 of 4: the same conversation in three wire formats"
	$(BIN)/dragoman show $(DEMO)/hello.json
	@echo "== 4 of 4: five questions about five files, and how many the model got right"
	cd examples/hello && $(BIN)/python five.py

test: $(VENV)/.dev  ## the linters and every test, side by side; what was skipped is listed with its reason
	@$(MAKE) --no-print-directory --jobs=2 check tests

tests: $(VENV)/.dev
	$(BIN)/python -m pytest -rs -n auto --maxprocesses 8 --dist worksteal

laws: $(VENV)/.dev  ## the property tests once more, with many more examples each
	DRAGOMAN_TESTS=deep $(BIN)/python -m pytest -n auto --maxprocesses 8 --timeout 3600 tests/laws tests/unit/history tests/unit/wire

clients: $(VENV)/.dev  ## real clients, unchanged, through the gateway: installed below .clients, run, shown in a table
	$(BIN)/python -m clients.run

check: $(VENV)/.dev  ## only the linters, the type checker and the generated pages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright
	$(BIN)/python tools/requirements.py --check
	$(BIN)/python tools/cases.py --check
	$(BIN)/python tools/providers.py --check
	$(BIN)/python tools/errors.py --check
	$(BIN)/python tools/money.py --check

format: $(VENV)/.dev  ## put the code into its one form
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/.dev  ## write the generated pages again
	$(BIN)/python tools/requirements.py
	$(BIN)/python tools/cases.py
	$(BIN)/python tools/providers.py
	$(BIN)/python tools/errors.py
	$(BIN)/python tools/money.py

figures: $(VENV)/.dev  ## write the pages again that need the recordings: what is read right, what each wire cannot say
	$(BIN)/python tools/recordings.py
	$(BIN)/python tools/pairs.py

readme: $(VENV)/.all  ## run the demo and write what it prints, shortened, into README.md
	$(BIN)/python tools/demo.py

clean:  ## remove .venv and everything built
	rm -rf $(VENV) .clients build dist .pytest_cache .ruff_cache .hypothesis
	find $(wildcard src tests tools benchmarks clients examples) -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp an extra: `demo` need not wait for the type checker. Changed versions are installed over the old ones.
$(VENV)/.%: pyproject.toml constraints.txt | $(VENV)/bin/pip
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[$*]'
	@touch $@

# Some systems ship python3 and pip without the part of venv that brings pip along: then pip installs itself. The pip
# that older ones bring takes twice as long as today's to choose among versions.
$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "dragoman needs Python 3.11 or newer, $(PYTHON) is older: make PYTHON=python3.12 …" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
		$(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
