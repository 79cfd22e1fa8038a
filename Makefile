# Two commands set everything up: `make demo` and `make test`. The rest is for people who work on hushrank.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# One thread per worker: the test workers share the cores, and every result is the same for any thread count.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test test-oldest lint format audit bench bench-scale bench-cluster figures docs clean
PYTEST := -m pytest -q -n 2 --dist worksteal --doctest-modules --doctest-glob='*.md'

help:  ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "hushrank needs Python 3.11 or newer on the PATH"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(VENV)/.installed  ## A private recommender from built-in ratings: errors at six guarantees, and a report
	$(BIN)/hushrank demo

test: $(VENV)/.installed  ## Run the whole test suite
	$(ONE_THREAD) $(BIN)/python $(PYTEST)

.venv-oldest/.installed: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet --disable-pip-version-check -e '.[dev]' -c tests/oldest.txt
	touch $@

# Compiled kernels of two versions of numba must not lie in one place. Where recorded bits are released again, the noise of
# many fits has the law that `make test` looked at.
test-oldest: .venv-oldest/.installed  ## Run the tests with the oldest supported dependencies
	$(ONE_THREAD) NUMBA_CACHE_DIR=$(CURDIR)/.venv-oldest/kernels .venv-oldest/bin/python $(PYTEST) -m 'not audit and not law and not site'

lint: $(VENV)/.installed  ## Check style, spelling and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md docs src tests benchmarks examples
	$(BIN)/mypy

format: $(VENV)/.installed  ## Rewrite the sources in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

audit: $(VENV)/.installed  ## All tests with new noise and examples, slow audits among them; the accounting oracle made anew
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n 2 -m 'not site' --hypothesis-profile=search --fresh-keys tests
	$(PYTHON) -m venv .venv-oracle
	.venv-oracle/bin/pip install --quiet --disable-pip-version-check dp-accounting==0.6.0
	.venv-oracle/bin/python tests/stored/make_pld_oracle.py --check tests/stored/pld_oracle.json

.venv-peers/.installed:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --disable-pip-version-check \
		diffprivlib==0.6.6 'opendp[scikit-learn]==0.16.0' 'scikit-learn<1.9' implicit==0.7.3
	touch $@

# Data that are not part of the project: make bench DATA=folder, with ml1m.parquet and ml100k.parquet in it.
DATA ?=

bench: $(VENV)/.installed .venv-peers/.installed  ## Benchmarks; writes benchmarks/RESULTS.md
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python benchmarks/run.py $(if $(DATA),--data $(DATA))

bench-scale: $(VENV)/.installed  ## Private recommenders of up to 1e8 ratings; takes 20 GB of disk and some time
	$(BIN)/python benchmarks/bench_scale.py

bench-cluster: $(VENV)/.installed  ## A recommender of 2e8 ratings on Dask clusters; takes 5 GB of disk and 40 minutes
	$(BIN)/python benchmarks/bench_cluster.py
	$(BIN)/python benchmarks/bench_cluster_constants.py

figures: $(VENV)/.installed  ## Draw docs/images, its charts from benchmarks/results.json
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[figures]'
	$(BIN)/python benchmarks/figures.py

docs: $(VENV)/.installed  ## Build the documentation as HTML in build/docs, and check its links, search and pages
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	rm -rf build/docs
	$(BIN)/sphinx-build -q -W -E -b html docs build/docs
	$(BIN)/python -m pytest -q -m site tests/system/test_site.py
	@echo "the site is in build/docs/index.html"

clean:  ## Remove what the other targets made
	rm -rf $(VENV) .venv-oldest .venv-oracle .venv-peers build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
