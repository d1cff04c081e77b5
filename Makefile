# Two commands matter: `make demo` and `make test`. Both set up what they need and may be run again at any time.

PYTHON ?= python3
VENV   ?= .venv
PY     := $(VENV)/bin/python
TORCH  ?= torch==2.13.0
PIP    := $(PY) -m pip install --quiet --constraint constraints.txt
ROCM   ?= .rocm
# Two more than cores: many a test waits, for a rank that hangs or a download. A file's tests stay in one worker
# (--dist loadfile), so that what they share is built once; tests/conftest.py puts the longest files first.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')

# Tests start hundreds of Python processes, and every worker imports all tests: each finds compiled files, whatever
# the caller's environment says about writing them.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup browser demo test check fixtures test-slow test-amd test-nvidia test-vendor rocm-debian docs \
  release-check bench clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# Stamps hold the files they were made from, so a second run does nothing and a changed pyproject.toml sets up anew.
$(VENV)/.base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Python 3.10 or newer is needed; $(PYTHON) is $$($(PYTHON) -V). Try: make PYTHON=python3.12 ..."; exit 2; }
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PIP) --editable '.[toolchain,report]'
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	$(PIP) '$(TORCH)'
	$(PIP) --editable '.[toolchain,dev]'
	@touch $@

setup: $(VENV)/.dev  ## a virtual environment with everything the tests need

browser:  ## a Chromium from the system's packages (root, apt), in which `make test` tries the pages
	$(PYTHON) scripts/find_browser.py --install

demo: $(VENV)/.base  ## the main job end to end on bundled samples
	$(PY) examples/demo.py

check: $(VENV)/.dev  ## format, lint, types
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) scripts/format_native.py --check
	$(PY) -m mypy
	$(PY) scripts/module_sizes.py

test: check  ## set up and pass all tests that need no GPU
	$(PY) -m compileall -q src/kernel_pytorch
	$(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m 'not amd and not nvidia and not slow and not rocm_headers'

test-slow: $(VENV)/.dev  ## the full matrices: minutes
	$(PY) -m pytest -n auto -m 'slow and not amd and not nvidia'

rocm-debian: $(VENV)/.base  ## unpack Debian's clang and ROCm headers into .rocm (no root, nothing installed)
	$(PY) scripts/fetch_rocm_debian.py $(ROCM)

test-vendor: $(VENV)/.dev rocm-debian  ## tests against ROCm's own headers and LLVM's own tools
	KPT_ROCM_ROOT=$(abspath $(ROCM)) $(PY) -m pytest -n auto -m 'rocm_headers'

# On a GPU machine the torch that is there is the one to test: no virtual environment, nothing is installed.
test-amd:  ## on a machine with an AMD GPU and a ROCm torch: what could not be run elsewhere
	PYTHONPATH=src $(PYTHON) -m pytest -m amd tests/hw

test-nvidia:  ## on a machine with an NVIDIA GPU
	PYTHONPATH=src $(PYTHON) -m pytest -m nvidia tests/hw

docs: $(VENV)/.dev  ## regenerate the pages that come from the code, and build the site into build/site
	$(PY) scripts/generate_rule_docs.py
	$(PY) scripts/generate_reference.py
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo "the site is in build/site; to read it: $(PY) -m http.server -d build/site"

fixtures: $(VENV)/.dev  ## rewrite the rules' expected results; read the diff before you keep it
	$(PY) scripts/regenerate_fixtures.py

release-check: $(VENV)/.base  ## build wheel and sdist into dist/, check them, install them into empty environments
	$(PY) scripts/check_release.py

bench: $(VENV)/.dev  ## measurements, as ratios to a peer in the same run
	$(PY) benchmarks/start_up.py
	$(PY) benchmarks/compile_cache.py

clean:  ## remove what make made
	rm -rf $(VENV) $(ROCM) build dist demo-out .mypy_cache .ruff_cache .pytest_cache
