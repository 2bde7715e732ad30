# Everything here needs Go and a C compiler; what else it needs it fetches.
# With TOA_TEST_STRICT=1 a test that is skipped fails the run.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

TOOL := test/tools/run
ENGINES := $(patsubst test/%/build,%,$(wildcard test/*/build))
WITH_ENGINES = TOA_TEST_CLUSTER=$$(test/setup --where cluster) TOA_TEST_BUILDKIT=$$(test/setup --where buildkit) \
	TOA_TEST_VERDACCIO=$$(test/setup --where verdaccio)
BUILD_FILES = $(shell git ls-files --cached --others --exclude-standard -- '*.bazel' '*.bzl' '*WORKSPACE')
FUZZ_TIME ?= 20s
# The race detector sleeps for a second at the end of every process, in which
# others might still report. Tests here run hundreds of processes that wait for
# all they began.
export GORACE ?= atexit_sleep_ms=0
# How long the tests of one package may take on a busy machine.
PATIENCE ?= 60m
# How many packages are tested at a time: they wait for engines and processes
# half of their time, so that there are more than processors.
PACKAGES ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2)))
BENCH ?=
RUNS ?= 3000
CUTS ?= 200

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: build
build: ## build dist/toa, which starts fast, and dist/toa-full, which it becomes for clusters and BuildKit
	CGO_ENABLED=0 go build -trimpath -tags slim -o dist/toa ./cmd/toa
	CGO_ENABLED=0 go build -trimpath -o dist/toa-full ./cmd/toa

.PHONY: test
test: engines ## run all tests with the race detector
	@test/setup git node npm busybox runc docker dockerd skopeo podman ctr sshd docker-registry bazel-4
	go test -race -tags failpoint ./internal/failpoint
	go test -tags failpoint ./images -run TestStruck
ifdef TOA_TEST_STRICT
	$(WITH_ENGINES) test/scratch go test -race -p $(PACKAGES) -timeout $(PATIENCE) -json ./... | go run -race ./test/strict
else
	$(WITH_ENGINES) test/scratch go test -race -p $(PACKAGES) -timeout $(PATIENCE) ./...
endif

.PHONY: engines
engines: ## build what tests run against, once for each version of it
	@test/setup node npm $(ENGINES) >/dev/null

.PHONY: check
check: check-format check-tidy check-build-files vet lint vulnerabilities test check-cluster ## all that a change must pass

.PHONY: check-fast
check-fast: check-format vet ## the part of check that needs nothing but Go

.PHONY: check-format
check-format:
	@unformatted=$$($(TOOL) gofumpt -l .); \
	[ -z "$$unformatted" ] || { echo "not formatted, run make format: $$unformatted" >&2; exit 1; }

.PHONY: check-tidy
check-tidy:
	go mod tidy -diff

# The control plane's dependencies take minutes to compile; that is done once,
# so what is checked here is built as the control plane is: without the race detector.
.PHONY: check-cluster
check-cluster: engines ## check the nested module of the tests' control plane
	cd test/cluster && go mod tidy -diff && go vet ./... && go test ./...
	cd test/cluster && ../../$(TOOL) golangci-lint run ./...

.PHONY: check-build-files
check-build-files:
	@test/setup node npm
	$(TOOL) gazelle update -mode=diff
	$(TOOL) buildifier -mode=check -lint=warn $(BUILD_FILES)

# The race detector's build of the dependencies is the one that the tests use.
.PHONY: vet
vet:
	go vet -race ./...

.PHONY: lint
lint: ## run golangci-lint (its first build takes minutes)
	$(TOOL) golangci-lint run ./...

.PHONY: vulnerabilities
vulnerabilities: ## look the dependencies up in the Go vulnerability database
	@if curl --silent --fail --head --max-time 5 --output /dev/null https://vuln.go.dev/index/db.json; \
	then $(TOOL) govulncheck ./...; \
	else echo "vulnerabilities: skipped, the database cannot be reached" >&2; fi

.PHONY: format
format: ## format Go and Bazel files
	$(TOOL) gofumpt -w .
	$(TOOL) buildifier -mode=fix $(BUILD_FILES)

.PHONY: build-files
build-files: ## write BUILD.bazel files and MODULE.bazel's list anew
	$(TOOL) gazelle update -mode=fix
	go test ./internal/arch -run 'ModuleBazel|BuildFiles' -update
	$(TOOL) buildifier -mode=fix $(BUILD_FILES)

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZ_TIME (default 20s)
	@grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u | while read -r dir; do \
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$dir"/*_test.go | while read -r target; do \
			echo "== $$dir $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ_TIME) "$$dir" </dev/null; \
		done; \
	done

.PHONY: crash
crash: build engines ## kill RUNS runs of the real binary at random (default 3000), and make as many fail at each step
	TOA_TEST_BINARY=$(CURDIR)/dist/toa TOA_TEST_CRASH=$(RUNS) TOA_TEST_SEEDS=$$(($(RUNS) / 130)) go test ./cmd/toa -run 'TestRunsKilled|TestFailpoints' -v -count=1 -timeout 2h
	$(WITH_ENGINES) go test -tags failpoint ./release/cluster -run TestStruck -v -count=1 -timeout 1h

# In a mount namespace of its own: a copy of the mount in another one would keep
# what was cut alive.
.PHONY: powercut
powercut: build ## cut the power under the cache CUTS times (default 200): needs root, loop devices, ext4
	TOA_TEST_BINARY=$(CURDIR)/dist/toa TOA_TEST_POWERCUTS=$(CUTS) go test -tags powercut -exec 'unshare --mount' ./cmd/toa -run TestPowerCuts -v -count=1 -timeout 2h

.PHONY: memory
memory: build ## push four layers of 2 GiB and look at the memory that takes
	TOA_TEST_BINARY=$(CURDIR)/dist/toa TOA_TEST_LAYER=2048 go test ./cmd/toa -run TestMemoryOfAPush -v -count=1 -timeout 1h

.PHONY: bench
bench: ## measure against the peers (BENCH=-quick for small trees)
	@test/setup git b3sum
	go run ./bench/run $(BENCH)
