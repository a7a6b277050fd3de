# `make demo` shows the main job on one framework, `make test` runs everything on all three.
# Each makes .venv itself and needs only CPython >= 3.11 with venv and pip.

PYTHON ?= python3
WORKERS ?= 2
# The suite runs once on each; the first also runs the tests that need no framework.
BACKENDS = jax tensorflow torch

VENV = .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --no-input
PINS = --constraint constraints.txt
INSTALL = $(PIP) install $(PINS) --build-constraint constraints.txt
# Small tensors on many processes: more threads in each only get in the way, and compiling well takes longer than running.
# The flag is one of the pinned jaxlib; where a newer one doesn't know it, every JAX process ends at once and says so.
QUIET = TF_CPP_MIN_LOG_LEVEL=3 OMP_NUM_THREADS=1 JAX_DISABLE_MOST_OPTIMIZATIONS=1 \
	XLA_FLAGS=--xla_cpu_use_fusion_emitters=false
PYTEST = $(QUIET) $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=worksteal

.PHONY: help demo test test-fast lint format clean distclean

help:
	@echo "make demo       checks examples/first_layers.py on JAX, in a .venv of its own"
	@echo "make test       lint, types, and the whole suite on TensorFlow, JAX and PyTorch"
	@echo "make test-fast  lint, types, and the quick tests on JAX"
	@echo "make lint       ruff and mypy;  make format  rewrites the code as ruff wants it"
	@echo "make clean      removes caches and reports;  make distclean  removes .venv as well"

demo: $(VENV)/.demo
	@KERAS_BACKEND=jax $(QUIET) $(BIN)/python tools/demo.py

test: $(VENV)/.test lint
	@failed=; set --; \
	for backend in $(BACKENDS); do \
		echo "== Tests on $$backend"; \
		KERAS_BACKEND=$$backend $(PYTEST) "$$@" </dev/null || failed="$$failed $$backend"; \
		set -- -m "not once"; \
	done; \
	if [ -n "$$failed" ]; then echo "Tests failed on:$$failed"; exit 1; fi

test-fast: $(VENV)/.test lint
	KERAS_BACKEND=jax $(PYTEST) -m "not slow" </dev/null

lint: $(VENV)/.test
	@echo "== ruff and mypy"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests tools examples -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)

# pip as pinned: one that knows dependency groups, which the pip that comes with Python 3.11 doesn't.
$(VENV)/.pip: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "layerwright needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": make PYTHON=python3.11")'
	@echo "== Making $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install $(PINS) pip
	@touch $@

$(VENV)/.demo: $(VENV)/.pip pyproject.toml constraints.txt
	@echo "== Installing layerwright and one framework (JAX)"
	$(INSTALL) --editable ".[jax]"
	@touch $@

$(VENV)/.test: $(VENV)/.pip pyproject.toml constraints.txt
	@echo "== Installing layerwright, TensorFlow, JAX, PyTorch and the developers' tools"
	$(INSTALL) --editable ".[kernels,tensorflow,jax,torch]" --group dev
	@touch $@
