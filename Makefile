# The commands a contributor types. Each is one script or one cargo call; read those for the details.

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: ## Install what the tests need, then check and test everything
	@tools/test

.PHONY: setup
setup: ## Only install what the tests need
	@tools/test setup

.PHONY: bench
bench: ## Run the benchmarks and print their ratios
	@tools/bench

.PHONY: scale
scale: ## Check, migrate and audit many stored objects on a real API server, and measure the memory that takes
	@tools/scale

.PHONY: corpora
corpora: ## Run the product over public corpora: make corpora MANIFESTS=DIR GRAPH_DATA=DIR
	@tools/corpora

.PHONY: cluster
cluster: ## Start the tests' control plane for a person; stops with Ctrl-C
	@testbed/install
	@cargo run --quiet --locked --package clearway-testbed --bin cluster

.PHONY: crds
crds: ## Write crds/, deploy/ and docs/codes.md, which are generated from the sources
	@CLEARWAY_WRITE_GENERATED=1 cargo test --quiet --locked --workspace --test generated

.PHONY: released-crds
released-crds: ## Keep crds/ as the released bundle of its version, with its names in the ledger (crds/released)
	@CLEARWAY_WRITE_RELEASED=1 cargo test --quiet --locked --package clearway-update --test released_crds

.PHONY: gateway-releases
gateway-releases: ## Download the releases of Gateway API (needs go), and compare them with what is known of their changes
	@tools/gateway-releases

.PHONY: conformance
conformance: ## Run the conformance tests of Gateway API that assert status against the operator (needs go)
	@tools/conformance

.PHONY: gatekeeper
gatekeeper: ## Compare the verdicts and messages of policies with Gatekeeper's own gator (needs go)
	@tools/gatekeeper

.PHONY: image
image: ## Build the container image: a static binary and the Containerfile, into target/image
	@tools/image

.PHONY: dist
dist: ## Build the release archive, the Helm chart and their checksums into target/dist
	@cargo xtask dist

.PHONY: dist-check
dist-check: ## Build the release archive in two directories and compare their bytes
	@tools/dist-check

.PHONY: fuzz
fuzz: ## Fuzz each target for a minute (needs a nightly toolchain and cargo-fuzz)
	@tools/fuzz
