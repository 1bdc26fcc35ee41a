# Everything goes through a virtual environment of the checkout's own; nothing else is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DIST ?= dist
# What tests start again and again is compiled once, whatever the image says.
export PYTHONDONTWRITEBYTECODE :=
# Most tests wait most of the time: three times as many as there are CPUs of a small machine.
JOBS ?= 6
WORKERS = --dist worksteal --tx "$(JOBS)*popen//python=tests/alone.sh $(BIN)/python"

.PHONY: run test test-without-tools check bench statistics statistics-mutations screenshots faults simulate simulate-mutations chaos fuzz torch-test wheelhouse install-test clean

run: $(READY)  ## The console; without a terminal the same CPU smoke campaign, headless.
	@if [ -t 0 ] && [ -t 1 ]; then exec $(BIN)/dlperf-tui; \
	else exec $(BIN)/dlperf-tui run --profile cpu-smoke --case 1n1g 1n2g; fi

test: $(READY)  ## All tests but those that need PyTorch or take minutes.
	$(BIN)/python -m pytest $(WORKERS) $(PYTEST_ARGS)

# On this machine alone, or with the server that they name: they never look for one of the tools.
SAME_WITHOUT_TOOLS := auto_repeats campaign_access campaign_local collecting copied_campaigns \
	costly_patterns cpu_profiles damaged_journals demo docs_api docs_profiles explain \
	frozen_campaigns host_contract html_in_browser linked_placement logs_on_disk memory_limit \
	nccl_tests_profile notify other_users pause podman precheck_runs prices program_of_the_tests \
	readme remote_in_a_job remote_shells retry run_telemetry second_engine slow_ranks transports \
	unbegun_campaigns workloads_cpu_smoke
# What these ask of the server that stands in for sshd, the campaigns over ssh ask as well; they too
# run by: make test-without-tools LIKE_OVER_SSH=
LIKE_OVER_SSH := cancel command_line hangs keeper packed_campaigns precheck silent_host

test-without-tools: $(READY)  ## What could differ without sshd, ssh, tmux, iproute2, Slurm …
	$(BIN)/python -m tests.without_tools $(BIN)/python -m pytest $(WORKERS) \
		tests/integration $(patsubst %,--ignore=tests/integration/test_%.py,$(SAME_WITHOUT_TOOLS) $(LIKE_OVER_SSH)) \
		-k "not local] and (not remote_runs or ssh or loopback)" $(PYTEST_ARGS)

check: $(READY)  ## Style, types, architecture.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)  ## Speed and memory, as ratios measured side by side.
	$(BIN)/python -m tests.benchmarks

statistics: $(READY)  ## How often the statistical rules are right; rewrites docs/statistics.md; minutes.
	$(BIN)/python -m tests.statistics

statistics-mutations: $(READY)  ## Each constant of the rules is changed, and a test fails; minutes.
	$(BIN)/python -m tests.statistics.mutations $(WORDS)

faults: $(READY)  ## Long fault scenarios, and hosts with real sshd in network namespaces; needs root; minutes.
	$(BIN)/python -m pytest -m faults tests/integration

simulate: $(READY)  ## Whole campaigns under simulated faults: SEEDS=10000 KEPT=20 FIRST=1; see docs/reliability.md.
	$(BIN)/python -m tests.simulation $(or $(SEEDS),1000) $(or $(FIRST),1)
	$(BIN)/python -m tests.simulation --kept $(or $(KEPT),20) $(or $(FIRST),1)

simulate-mutations: $(READY)  ## Faults of the past are put back one at a time, and found.
	$(BIN)/python -m tests.simulation --mutations $(or $(SEEDS),1000)

chaos: $(READY)  ## Real hosts in network namespaces and random faults: MINUTES=15 SEED=1; needs root.
	$(BIN)/python -m tests.chaos $(or $(MINUTES),15) $(or $(SEED),1)

fuzz: $(READY)  ## Properties on examples that nobody has seen, 12,000 bursts of keys: ROUNDS=5 BURSTS=2500.
	for round in $$(seq $(or $(ROUNDS),5)); do DLPERF_HYPOTHESIS=fuzz $(BIN)/python -m pytest \
		$(WORKERS) -q -m hypothesis $(PYTEST_ARGS) || exit 1; done
	DLPERF_BURSTS=$(or $(BURSTS),2500) DLPERF_FUZZ_SEED=$$(date +%s) $(BIN)/python -m pytest $(WORKERS) --timeout 3600 -q \
		tests/console/test_bursts.py tests/console/test_hints.py \
		tests/console/test_hostile_terminal.py $(PYTEST_ARGS)

torch-test: $(READY)  ## Tests that need a Python with PyTorch: DLPERF_TORCH_PYTHON=/path/python3.
	$(BIN)/python -m pytest -m torch

screenshots: $(READY)  ## SVG and PNG of every screen and the film of the walk, from the real console; minutes.
	$(BIN)/python screenshots/make.py

wheelhouse: $(READY)  ## dist/dlperf-tui-wheelhouse.tar: all that a login node without a network needs.
	rm -rf $(DIST)/wheelhouse
	$(BIN)/python -m pip wheel --quiet --wheel-dir $(DIST)/wheelhouse .
	$(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])' >$(DIST)/wheelhouse/python
	cp .ci/install $(DIST)/wheelhouse/install
	tar -C $(DIST) -cf $(DIST)/dlperf-tui-wheelhouse.tar wheelhouse

install-test: $(READY)  ## The wheelhouse and the wheel are installed as on a login node; a minute.
	$(BIN)/python -m pytest -m install

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dlperf-tui needs Python 3.11 or newer; name one: make PYTHON=python3.12 …")'
	@echo "setting up $(VENV), a minute or some of pip without a word"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

clean:
	rm -rf $(VENV)
