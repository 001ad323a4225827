# Everything that a new machine needs comes from here: Python 3.11 or newer with venv, git and make.
# Kept to what GNU make 3.81 (macOS) and a POSIX shell understand.

VENV := .venv
PYTHON := $(VENV)/bin/python
PYTEST := $(PYTHON) -m pytest
RUN := $(VENV)/.ready-to-run
DEVELOP := $(VENV)/.ready-to-develop
STUDY := evals/quickstart

# Arguments for pytest: make test ARGS="-k ledger"
ARGS :=

.DEFAULT_GOAL := help
.PHONY: help pilot example test lint format clean moved

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

pilot: $(RUN) ## Rehearse every study's pilot, at no cost; with the pinned claude on PATH, through it too.
	$(PYTEST) evals -m pilot $(ARGS)
	@wanted=$$($(PYTHON) -c 'import sys, tomllib; print(tomllib.load(open(sys.argv[1], "rb"))["transports"]["cli"]["version"])' $(STUDY)/study.toml) || exit 1; \
	found=$$(claude --version </dev/null 2>/dev/null | awk 'NR == 1 { print $$1 }'); \
	if [ "$$found" = "$$wanted" ]; then \
	    echo "$(PYTEST) $(STUDY) -m pilot --transport cli $(ARGS)"; \
	    exec $(PYTEST) $(STUDY) -m pilot --transport cli $(ARGS); \
	fi; \
	if command -v claude >/dev/null 2>&1; then why="claude on PATH reports $${found:-no version}"; \
	else why="there is no claude on PATH"; fi; \
	echo "The pilot through the Claude Code CLI did not run: $$why, and the study is pinned to $$wanted."

example: $(RUN) ## Rehearse the quickstart from pilot to verified bundle, at no cost.
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh docs/quickstart.sh

test: $(DEVELOP) ## Run the tests; no attempt is made and nothing is paid.
	$(PYTEST) -n auto $(ARGS)

lint: $(DEVELOP) ## ruff, mypy and the direction of imports.
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	$(VENV)/bin/lint-imports

format: $(DEVELOP) ## Let ruff lay out the code.
	$(PYTHON) -m ruff format .

clean: ## Remove the virtual environment and what tools left behind.
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage

# The stamp holds the folder's path. A project that was moved or copied has a .venv whose editable
# install points to where it was; that one, and one whose Python is gone, is made anew.
ifneq ($(shell $(PYTHON) -c '' 2>/dev/null && cat $(RUN) 2>/dev/null),$(CURDIR))
$(RUN): moved
endif

$(RUN): pyproject.toml
	@found=; \
	if [ "$$(cat $@ 2>/dev/null)" != "$(CURDIR)" ] || ! $(PYTHON) -c '' 2>/dev/null; then \
	    for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	        if $$name -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	            found=$$name; break; \
	        fi; \
	    done; \
	    if [ -z "$$found" ]; then \
	        echo "No Python 3.11 or newer with venv was found as python3 or python3.11 to python3.14; install one, on Debian with its package python3-venv, and put it on PATH." >&2; \
	        exit 1; \
	    fi; \
	    echo "Making $(VENV) with $$($$found --version)."; \
	    rm -rf $(VENV) && $$found -m venv $(VENV); \
	fi
	@$(PYTHON) -c 'import sys, pip; sys.exit(tuple(map(int, pip.__version__.split(".")[:2])) < (25, 1))' \
	    || $(PYTHON) -m pip install --quiet --upgrade "pip>=25.1"
	$(PYTHON) -m pip install --quiet --editable .
	@echo "$(CURDIR)" > $@

$(DEVELOP): $(RUN)
	$(PYTHON) -m pip install --quiet --group test --group lint
	@touch $@
