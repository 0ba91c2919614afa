# Everything runs in a virtual environment in .venv, which the first target makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test slow check format wheel clean

demo: $(READY)
	$(BIN)/python -m nashfold.experiments.demo

# A test file is one worker's: its fixtures are made once.
PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile

test: $(READY)
	$(BIN)/python -m pytest $(PARALLEL)

# The long tests, then the fast ones again with array bounds checked and nothing compiled beforehand.
slow: $(READY)
	$(BIN)/python -m pytest -m slow
	rm -rf build/numba && mkdir -p build/numba
	NUMBA_CACHE_DIR=build/numba NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest $(PARALLEL)

# Types are checked on what the wheel installs, where the four packages are one.
check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/installed build/lib
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target build/installed .
	cd build/installed && ../../$(BIN)/mypy --config-file ../../pyproject.toml --namespace-packages \
		--explicit-package-bases -p nashfold

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(READY)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:
	rm -rf build dist runs *.egg-info

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
