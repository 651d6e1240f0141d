# Two commands for users: `make demo` and `make test`. Each makes .venv on its first
# run and needs nothing but Python 3.11-3.13, pip and make; uv is used when present.
#
#   PYTHON=python3.12 make test    choose the interpreter
#   VENV=.venv311 make test        choose the environment's folder
#   make test ARGS="-k sinkhorn"   pass options on

VENV ?= .venv
BIN := $(VENV)/bin
# Options that the commands pass on.
ARGS ?=
export VENV

.DEFAULT_GOAL := help
.PHONY: help demo test docs lint bench clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile | expand -t 14

demo: ## run every experiment in quick form on real data and write a report page
	@.ci/venv plots data sweep
	$(BIN)/python -m experiments run all --quick $(ARGS)

test: ## run the test suite
	@.ci/venv test
	$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

docs: ## build the documentation into docs/_build/html
	@.ci/venv docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html $(ARGS)
	@echo "docs/_build/html/index.html"

lint: ## check style, spelling and types
	@.ci/venv lint plots data peers sweep search
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: ## compare with peer libraries in one process
	@.ci/venv peers
	$(BIN)/python -m benchmarks $(ARGS)

clean: ## remove the environment and everything built (results/ stays)
	rm -rf $(VENV) build dist docs/_build docs/api/generated docs/generated .cache
	rm -rf .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
