# The everyday commands. `make help` lists them.
#
# A machine with Go, git and make is enough. What else a command needs (a C compiler for the race detector) is installed
# by scripts/need when it is missing, or named if that is not possible.

GO      ?= go
BIN     := bin/weft
# Recorded runs and what is drawn of them are not built: who has measured half of them measures the rest with the same version.
CHANGED := $(shell git status --porcelain -- . ':!bench/results' ':!docs' 2>/dev/null)
VERSION := $(or $(shell git describe --tags --always 2>/dev/null),dev)$(if $(CHANGED),-dirty)
LDFLAGS := -X main.version=$(VERSION)
# The version is stamped by the linker flag above; Go's own stamping fails in a checkout that another user owns.
BUILD   := $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'

# The race detector costs several times the time, so it runs where goroutines meet.
# GORACE: a process that it watches sleeps for a second before it exits, and the tests start thousands.
GORACE  ?= atexit_sleep_ms=50
# All of it but the directory's: etcd takes minutes to be built for the race detector.
RACE    := $(patsubst %,./%/...,$(wildcard agent connect internal keys loop provider push rdmc/muster resp ripc/link ripc/stream verbs web)) \
	./ripc ./ripc/find ./ripc/find/host ./ripc/find/lan ./ripc/find/static
TIMEOUT ?= 10m
FUZZ    ?= 30s

# What a virtual machine with Soft-RoCE is made of, and what runs in it.
ROCE         := qemu-system-x86 busybox-static kmod xz-utils iproute2 \
                rdma-core ibverbs-providers ibverbs-utils perftest libibverbs-dev
ROCE_TIMEOUT ?= 15m

.DEFAULT_GOAL := build
.PHONY: build static run test test-roce test-long fuzz check bench bench-verbs bench-multicast bench-waiting bench-paper bench-ripc bench-push results report bench-roce clean help

build: ## build bin/weft, which needs only the C library
	@scripts/need gcc gcc libc6-dev || echo "make: without a C compiler $(BIN) cannot load RDMA" >&2
	$(BUILD) -o $(BIN) ./cmd/weft

static: ## build bin/weft without cgo: runs on any Linux, has no RDMA hardware
	CGO_ENABLED=0 $(BUILD) -o $(BIN) ./cmd/weft

run: build ## show it: 256 MiB to eight agents on this machine, with nothing to set up
	$(BIN) push --local 8

test: ## what continuous integration runs: vet, all tests, the race detector, test-roce
	$(GO) vet ./...
	@scripts/need ip iproute2 || true # the tests between hosts say what that means
	$(GO) test -timeout $(TIMEOUT) ./...
	@scripts/need gcc gcc libc6-dev
	CGO_ENABLED=1 GORACE=$(GORACE) $(GO) test -race -short -timeout $(TIMEOUT) $(RACE)
	$(MAKE) --no-print-directory test-roce

test-roce: build ## the tests that need a real RDMA device, on Soft-RoCE in virtual machines
	@scripts/need gcc gcc libc6-dev
	@scripts/need --all $(ROCE) || true # the rig says what that means
	$(GO) build -buildvcs=false -o bin/softroce ./rig/softroce
	GO='$(GO)' bin/softroce --timeout $(ROCE_TIMEOUT) --tests rig/softroce/tests.list

test-long: ## long variants (WEFT_LONG=1), everything with -race, all fuzz targets
	@scripts/need gcc gcc libc6-dev
	WEFT_LONG=1 $(GO) test -count=1 -timeout 60m ./...
	WEFT_LONG=1 $(MAKE) --no-print-directory test-roce ROCE_TIMEOUT=30m
	CGO_ENABLED=1 GORACE=$(GORACE) $(GO) test -count=1 -race -timeout 60m ./...
	$(MAKE) fuzz

fuzz: ## run every fuzz target for FUZZ (30s)
	@GO='$(GO)' scripts/fuzz $(FUZZ)

check: ## vet, the pinned linter, the rules of this source tree
	$(GO) vet ./...
	$(GO) tool -modfile=tools/go.mod golangci-lint run ./...
	$(GO) test -count=1 ./internal/tidy

bench: bench-verbs ## measure the verbs, then run every benchmark once, with allocations
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m ./...

bench-verbs: ## measure the verbs on every provider and against their peers, and record it (a few minutes, a quiet machine)
	@scripts/need ucx_perftest ucx-utils
	$(GO) run -buildvcs=false ./bench/verbs -version '$(VERSION)' -out bench/results/verbs.json

# Whom weft multicast is compared with, and what it takes to run them.
PEERS := openmpi-bin libopenmpi-dev mpich libmpich-dev gcc libc6-dev udpcast aria2 iproute2

bench-multicast: build ## measure weft multicast beside MPI, udpcast, BitTorrent and TCP, and record it (an hour, a quiet machine, root)
	@scripts/need --all $(PEERS) || true # who is missing is a row that failed
	$(BIN) bench multicast --out bench/results/multicast.json --plot bin/multicast.html

bench-waiting: build ## measure what polling, sleeping and NICs that relay cost, and record it (5 minutes, a quiet machine, root)
	$(BIN) bench waiting --out bench/results/waiting.json

bench-paper: build ## repeat the RDMC paper's experiments in the simulator, and record it (a minute)
	$(BIN) sim paper all --out bench/results/paper.json

# gRPC, NATS and ZeroMQ are in a module of their own, which only this needs.
bench-ripc: ## measure messages between services beside UCX, sockets, gRPC, NATS and ZeroMQ, and record it (7 minutes, a quiet machine)
	@scripts/need ucx_perftest ucx-utils || true # who is missing is a row that failed
	@scripts/need --all libzmq3-dev pkg-config gcc libc6-dev
	cd bench/ripc/peers && CGO_ENABLED=1 $(GO) build -buildvcs=false -o ../../../bin/ripc-peers .
	$(GO) run -buildvcs=false ./bench/ripc -version '$(VERSION)' -peers bin/ripc-peers -out bench/results/ripc.json

# Whom weft push is compared with.
PUSHERS := rsync udpcast aria2 b3sum iproute2

bench-push: build ## measure weft push beside rsync, BitTorrent, udpcast and bare multicast, and record it (an hour or two, a quiet machine, root)
	@scripts/need --all $(PUSHERS) || true # who is missing is a row that failed
	$(BIN) bench push --out bench/results/push.json

results: ## measure everything for docs/results.md, and write it anew (more than an hour, a quiet machine, root)
	-$(MAKE) --no-print-directory bench-paper
	-$(MAKE) --no-print-directory bench-waiting
	-$(MAKE) --no-print-directory bench-multicast
	-$(MAKE) --no-print-directory bench-ripc
	-$(MAKE) --no-print-directory bench-push
	-$(MAKE) --no-print-directory bench-verbs
	-$(MAKE) --no-print-directory bench-roce
	$(MAKE) --no-print-directory report

# What docs/results.md shows. All of it can be read before the old drawings are removed.
RECORDS := $(addprefix bench/results/,multicast.json multicast-slow.json waiting.json paper.json ripc.json verbs.json roce.json push.json)

report: build ## write docs/results.md and its drawings from the recorded runs
	@$(BIN) bench report $(RECORDS) >/dev/null
	rm -rf docs/results && mkdir -p docs/results
	$(BIN) bench report $(RECORDS) --title 'What was measured' \
		--about 'Repeat everything and write this page anew with: make results (more than an hour, as root, on a quiet machine); verbs alone with make bench-verbs, roce with make bench-roce; multicast-slow is multicast by a newer Weft on a machine whose cores are slower by half, and 4 % of whose time went to others' \
		--svg docs/results --html docs/results/report.html --markdown docs/results.md

# The machine's files are gone with it, so it prints what is to be kept.
bench-roce: build ## measure weft perf beside perftest on Soft-RoCE in a virtual machine, and record it (a quiet machine)
	@scripts/need --all $(ROCE)
	$(GO) build -buildvcs=false -o bin/softroce ./rig/softroce
	$(GO) build -buildvcs=false -o bin/bench ./bench/verbs
	bin/softroce --timeout 20m -- sh -c 'bin/bench -roce bin/weft -version $(VERSION) -pairs 7 -out bench/results/roce.json >&2; \
		status=$$?; cat bench/results/roce.json; exit $$status' >bin/roce.json; \
		status=$$?; if [ -s bin/roce.json ]; then mv bin/roce.json bench/results/roce.json; fi; exit $$status

clean: ## remove what was built
	rm -rf bin

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
