# make alone lists what there is. Each step of check is a step of .ci/run.

.DEFAULT_GOAL := help
.PHONY: help check fmt vet staticcheck tidy test race emulator portable cross seeds bench

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

check: ## all that a change must pass, as CI runs it
	@bash .ci/run

fmt: ## gofmt would change nothing
	@bash .ci/run fmt

vet: ## go vet, every module
	@bash .ci/run vet

staticcheck: ## staticcheck as pinned in tools/go.mod, every module
	@bash .ci/run staticcheck

tidy: ## the rules for the source, and whether it keeps them
	@go test -count=1 -v -run Rules ./internal/tidy

test: ## the tests of every module
	@bash .ci/run test

race: ## the same under the race detector
	@bash .ci/run race

emulator: ## a program for arm64 is looked into, under qemu
	@bash .ci/run emulator

portable: ## the tests on the driver that needs nothing of the system
	@bash .ci/run portable

cross: ## vet for the other systems and processors
	@bash .ci/run cross

seeds: ## the simulated tests with many seeds: make seeds N=2000
	RONDO_SEED=1-$(or $(N),2000) go test -count=1 -timeout 1h ./... ./examples/...

bench: ## the benchmarks beside their rivals: make bench COUNT=10
	go test -run '^$$' -bench . -benchmem -count $(or $(COUNT),1) ./bench/...
