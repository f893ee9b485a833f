# Plain `make` prints the targets. CONTRIBUTING.md says more.

# Modules of the workspace, as folders. The tools module is not one of them.
MODULES = $(shell go list -m -f '{{.Dir}}')

# Arguments for `go test`. Its cache is not for these tests: what they prove
# depends on files of other modules, on child processes and on the PostgreSQL.
TESTFLAGS ?= -count=1
BENCHFLAGS ?=
SOAKFLAGS ?=

.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test lint bench bench-full soak postgres pgbouncer promtool spin model build alone vet race gofumpt staticcheck

help: ## print the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## (.*)/make \1\t\2/' | expand -t 20

demo: postgres ## run the sample app's day against a real PostgreSQL
	go run ./sampleapp demo

test: postgres build alone lint model race demo ## prove everything: build, lint, vet for each system, model of the protocol, tests with the race detector, demo

lint: gofumpt vet staticcheck ## gofumpt, go vet for each system, staticcheck

bench: postgres ## measure beside the floor and River, in ten minutes (BENCHFLAGS, see docs/performance.md)
	go run ./integration/bench $(BENCHFLAGS)

bench-full: postgres ## measure everything: twenty minutes, and 10 GB of disk
	go run ./integration/bench -full $(BENCHFLAGS)

# How long the kinds of integration/faults are in a soak. -test.parallel: more at
# once would only wait for the two cores; the limits of listeners would not.
SOAK = -test.timeout 4h -test.parallel 3 -faults.kills 1000 -faults.together 1 -faults.crashes 25 -faults.rounds 100 \
	-faults.failing 10000 -faults.backlog 1000000 -faults.drain 200000 -faults.snapshot 3m

soak: postgres ## put the delivery under fire for half an hour, see docs/reliability.md (SOAKFLAGS="-faults.seed=N" repeats a run)
	go test -tags soak -c -o bin/faults.test ./integration/faults
	cd integration/faults && ../../bin/faults.test $(SOAK) $(SOAKFLAGS)

postgres: ## find PostgreSQL's server programs, or install them
	@.ci/postgres

pgbouncer: ## find pgbouncer, which tests run the kernel behind, or install it
	@.ci/pgbouncer

promtool: ## find promtool, which checks metrics and alerts, or install it
	@.ci/promtool

spin: ## find spin, which checks the model of the delivery protocol, or install it
	@.ci/spin

model: spin ## check the model of the delivery protocol, and that breaking it shows (docs/model)
	@docs/model/check

build: ## build every package of the workspace
	go build work

# Users have no go.work: each module must also build from its own go.mod.
alone: ## check that each module also builds without the workspace
	@set -e; for dir in $(MODULES); do \
		echo "cd $$dir && GOWORK=off go vet ./..."; \
		(cd "$$dir" && GOWORK=off go vet ./...); \
	done

vet: ## go vet for Linux, macOS and Windows
	@set -e; for os in linux darwin windows; do \
		echo "GOOS=$$os go vet work"; \
		GOOS=$$os go vet work; \
	done

# Packages that kill processes and servers and bound what listeners may take: one
# after another, since what another package takes of the machine is their time.
ALONE = github.com/tidings-go/tidings/integration/(delivery|faults|nodes)$$

# The suite of the delivery runs once more for each other way to reach PostgreSQL.
race: postgres pgbouncer promtool ## all tests with the race detector
	CGO_ENABLED=1 go test -race -timeout 30m $(TESTFLAGS) $$(go list work | grep -vE '$(ALONE)')
	CGO_ENABLED=1 go test -race -timeout 30m -p 1 $(TESTFLAGS) $$(go list work | grep -E '$(ALONE)')
	TIDINGS_LAB_WAY=pgx CGO_ENABLED=1 go test -race -timeout 30m $(TESTFLAGS) ./integration/delivery
	TIDINGS_LAB_WAY=pgbouncer CGO_ENABLED=1 go test -race -timeout 30m $(TESTFLAGS) ./integration/delivery

gofumpt: bin/gofumpt
	@files="$$(bin/gofumpt -l .)" || exit; \
	[ -z "$$files" ] || { echo "run bin/gofumpt -w on:"; echo "$$files"; exit 1; }

staticcheck: bin/staticcheck
	bin/staticcheck work

bin/gofumpt: tool = mvdan.cc/gofumpt
bin/staticcheck: tool = honnef.co/go/tools/cmd/staticcheck
bin/gofumpt bin/staticcheck: .ci/tools/go.mod .ci/tools/go.sum
	cd .ci/tools && GOWORK=off go build -o ../../$@ $(tool)
	@touch $@
