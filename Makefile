# The front door. A fresh machine needs Python (3.11 or newer) and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
NEW_ENOUGH := sys.exit(sys.version_info < (3, 11))

.PHONY: demo test test-adapters check format bench clean

demo: $(READY)   ## all of it in a few minutes, on text every Python carries
	$(BIN)/wordmint corpus plot demo --out demo-out/new-words.svg
	$(BIN)/wordmint demo --out demo-out

test: $(READY)   ## every test
	$(BIN)/python -m pytest

test-adapters: $(READY)  ## with libraries that are compiled here (kenlm), or that refuse a numpy they work with (pyctcdecode)
	$(BIN)/python -m pip install --quiet kenlm pygtrie
	$(BIN)/python -m pip install --quiet --no-deps pyctcdecode==0.5.0
	$(BIN)/python -m pytest tests/test_adapters.py

check: $(READY)  ## lint, format, types, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/python -m pytest -n 0 tests/test_layers.py

format: $(READY) ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## measure; each prints a table and one JSON line
	$(BIN)/python benchmarks/prepare.py
	$(BIN)/python benchmarks/train_step.py
	$(BIN)/python benchmarks/cache_size.py
	$(BIN)/python benchmarks/cpu_floor.py

# On Linux, pip gets PyTorch's GPU build, of several GB. A CPU build that is in .venv already is kept: see the README.
# A .venv that is whole is kept, so that a changed list of packages costs no more than what changed.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; $(NEW_ENOUGH)' 2>/dev/null || { \
	  echo 'Wordmint needs Python 3.11 or newer, which $(PYTHON) is not: make PYTHON=/path/to/python3.11' >&2; exit 1; }
	@rm -f $@
	@$(BIN)/python -c 'import pip, sys; $(NEW_ENOUGH)' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --editable '.[dev]'
	touch $@

clean:           ## remove what the targets above made
	rm -rf $(VENV) demo-out .pytest_cache .ruff_cache .hypothesis
