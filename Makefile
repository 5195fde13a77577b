# make setup | eval | demo | server | test | test-slow | test-all | check | reference | docs | lock; ARGS="…" is handed to the program.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WHOLE := $(VENV)/.whole
IMPORTED := basic_control.flows.full_eval, basic_control.flows.ephemeral, basic_control.flows.cli.commands.compare, \
  basic_control.tasks.models.embedded, basic_control.tasks.models.ollama, basic_control.tasks.models.openai, \
  basic_control.tasks.report.html, prefect.server.api.server, scipy.optimize, scipy.sparse.linalg, openai

.PHONY: setup eval demo server test test-slow test-all check reference docs format lock clean

setup: $(READY)

# The locked packages of a run with the embedded model; the installer, by its hash, in a folder of its own.
$(READY): requirements.run.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed; found `$(PYTHON) --version 2>&1`. Name another with PYTHON=…" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked packages into $(VENV) …"
	@$(call sync,requirements.run.lock)
	@# Beside the sandbox, the bytecode of what a run imports is written, once: where PYTHONDONTWRITEBYTECODE is set,
	@# every process would compile all anew.
	@$(BIN)/python -m basic_control sandbox & sandbox=$$!; \
	  env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -c 'import $(IMPORTED); openai.AsyncOpenAI(api_key="none").chat; \
	    pages = basic_control.tasks.report.pages.environment(); [*map(pages.get_template, pages.list_templates(["j2"]))]' && \
	  $(BIN)/python -m compileall -q basic_control flows tasks config generators metrics prompts data; made=$$?; \
	  wait $$sandbox && exit $$made
	@touch $@

# The rest of the lock: every extra, and what tests and checks need.
$(WHOLE): $(READY) requirements.lock
	@echo "Installing what tests and checks need into $(VENV) …"
	@$(call sync,requirements.lock)
	@touch $@

# Makes the environment hold what a lock names, and this tree.
define sync
  sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/installer.lock && \
  { test -x $(VENV)/installer/bin/uv || $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
    --target $(VENV)/installer -r $(VENV)/installer.lock; } && \
  VIRTUAL_ENV="$(abspath $(VENV))" $(VENV)/installer/bin/uv pip sync --quiet --require-hashes $(1) && \
  VIRTUAL_ENV="$(abspath $(VENV))" $(VENV)/installer/bin/uv pip install --quiet --no-deps \
    --build-constraint requirements.lock --editable .
endef

eval: $(READY)
	$(BIN)/python -m flows.full_eval $(ARGS)

# A whole report from recorded replies, in seconds.
demo: $(READY)
	$(BIN)/python -m basic_control demo $(ARGS)

# A Prefect server on 127.0.0.1: docs/deployment.md
server: $(READY)
	@$(BIN)/python -m basic_control schedule serve $(ARGS)

# The tests' processes write the bytecode of what they import beside that, once for all of them. Three for two cores:
# some wait. Files keep their order, in which those come first that take longest (tests/conftest.py).
TESTS := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder \
  --durations 10

test: $(WHOLE)
	$(TESTS) -m 'not slow' $(ARGS)

# Clusters, compilers, images, browsers at every width, megabytes, soaks, simulations: what is marked `slow`.
test-slow: $(WHOLE)
	$(TESTS) -m slow $(ARGS)

# The tests on every Python from 3.11 to 3.14 that is found, each in an environment of its own.
test-all:
	@.ci/versions "$(MAKE)" 'ARGS=$(ARGS)'

check: $(WHOLE)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyrefly check
	$(BIN)/lint-imports

# The page that is made from the code.
reference: $(WHOLE)
	$(BIN)/python -m tests.docs.reference > docs/reference.md

# The docs site, in build/site: no network, and no broken link.
docs: $(WHOLE)
	$(BIN)/zensical build --clean --strict

format: $(WHOLE)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# No uv.lock: it would name package hosts. What a run needs is at the whole lock's versions.
COMPILE := env -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
  --generate-hashes --no-emit-index-url --no-header --no-annotate pyproject.toml

lock: $(WHOLE)
	$(COMPILE) --all-extras --group dev --group docs --group model --output-file requirements.lock
	$(COMPILE) --extra embedded --group model --constraint requirements.lock --output-file requirements.run.lock

clean:
	rm -rf .venv .venv-3.* .ruff_cache .pytest_cache .hypothesis build dist
