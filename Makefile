# make alone lists the targets. Each step of check is a step of .ci/run.

.DEFAULT_GOAL := help
.PHONY: help check fmt clean vet staticcheck workflows rondovet install tidy api test race gc stress emulator arm64 wasm windows plain portable cross seeds bench

help: ## list the targets
	@sed -n 's/^\([a-z0-9]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

check: ## all that a change must pass, as CI runs it
	@bash .ci/run

fmt: ## gofmt would change nothing
	@bash .ci/run fmt

clean: ## Go commands change nothing in a fresh clone
	@bash .ci/run clean

vet: ## go vet, every module
	@bash .ci/run vet

staticcheck: ## staticcheck as pinned in tools/go.mod, every module
	@bash .ci/run staticcheck

workflows: ## actionlint finds nothing in the workflows
	@bash .ci/run workflows

rondovet: ## rondovet finds nothing, every module
	@bash .ci/run rondovet

install: ## the command, rondovet and a user's program install from a proxy of files
	@bash .ci/run install

tidy: ## the rules for the source, and what breaks them
	@go test -count=1 -v -run Rules ./internal/tidy

api: ## write the exported names of each package to api
	go test ./internal/tidy -run API -update

test: ## the tests of every module, on one release
	@bash .ci/run test

race: ## the short tests under the race detector, on the newest release
	@bash .ci/run race

gc: ## the tests of the kernel while the garbage collector runs all the time
	@bash .ci/run gc

stress: ## the short tests 50 times under -race, beside busy loops: make stress N=10
	@bash .ci/stress $(or $(N),50)

emulator: ## inspect reads a program for arm64, under qemu
	@bash .ci/run emulator

arm64: ## coroutines, kernel and epoll on arm64, under qemu
	@bash .ci/run arm64

wasm: ## coroutines and simulation in WebAssembly, under node
	@bash .ci/run wasm

windows: ## the tests on windows, as far as wine has it
	@bash .ci/run windows

plain: ## the tests without direct hand-overs between tasks
	@bash .ci/run plain

portable: ## the tests on the driver that needs nothing of the system
	@bash .ci/run portable

cross: ## vet for the other systems and processors
	@bash .ci/run cross

seeds: ## the simulated tests with many seeds: make seeds N=2000
	RONDO_SEED=1-$(or $(N),2000) go test -count=1 -timeout 1h ./... ./examples/...

bench: ## the benchmarks, with their rivals: make bench COUNT=10
	go test -run '^$$' -bench . -benchmem -count $(or $(COUNT),1) ./bench/...
