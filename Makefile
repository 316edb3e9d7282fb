# The targets that people and CI run. A fresh machine needs rustup and make only.

CARGO ?= cargo
WASM_TARGET := wasm32-wasip1
# Where cargo builds; what is made for people lies in target/ all the same.
BUILD := $(abspath $(or $(CARGO_TARGET_DIR),target))
STOWAGE = $(CARGO) run --quiet --release --bin stowage --

.PHONY: help setup module demo test soak lint control-plane e2e oci bench trace fuzz clean

help: ## What there is to make
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: ## Install the toolchain's wasm target (once)
	@rustup target list --installed | grep -qx $(WASM_TARGET) || rustup target add $(WASM_TARGET)

module: setup ## Build the module: target/stowage.wasm
	$(CARGO) rustc --package stowage-plugin --lib --crate-type cdylib --profile module --target $(WASM_TARGET)
	@mkdir -p target && cp $(BUILD)/$(WASM_TARGET)/module/stowage.wasm target/stowage.wasm && ls -l target/stowage.wasm

demo: module ## Pack a TFJob onto one of two GPU nodes, then spread it
	$(CARGO) build --release --bin stowage
	@echo
	@echo "A TFJob (1 parameter server, 4 workers with a GPU each) on two nodes with 4 GPUs, default policy:"
	@echo "everything goes to one node, the other keeps its 4 GPUs free for the next job."
	@$(STOWAGE) run -c examples/tfjob/cluster.yaml -w examples/tfjob/workload.yaml -p examples/tfjob/policy.json \
		--html target/demo.html
	@echo "As a page to look around in: target/demo.html"
	@echo
	@echo "The same with the shape reversed and gangs off (policy-spread.json): the emptier node wins, both end up half used."
	@$(STOWAGE) run -c examples/tfjob/cluster.yaml -w examples/tfjob/workload.yaml -p examples/tfjob/policy-spread.json

lint: setup ## Formatting, clippy on every target, docs
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	$(CARGO) clippy --package stowage-plugin --lib --target $(WASM_TARGET) -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

test: lint ## Everything: lints, native tests, property tests, scenarios on the real module
	$(CARGO) test --workspace

soak: setup ## The gang properties with STOWAGE_CASES random cases each (default 50000)
	STOWAGE_CASES=$(or $(STOWAGE_CASES),50000) $(CARGO) test --package stowage-plugin --lib gang -- --nocapture
	STOWAGE_CASES=$(or $(STOWAGE_CASES),50000) $(CARGO) test --package stowage-host-tests --test gang histories -- --nocapture

# Without the version kubectl takes the server for a broken one.
CONTROL_PLANE := $(CURDIR)/target/control-plane
KUBERNETES_VERSION := -X k8s.io/component-base/version.gitVersion=v1.33.4 \
	-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=33

control-plane: $(CONTROL_PLANE)/kube-apiserver ## Build etcd, kube-apiserver and kubectl from their Go modules (once)

$(CONTROL_PLANE)/kube-apiserver: $(wildcard e2e/controlplane/go.* e2e/controlplane/cmd/*/main.go)
	cd e2e/controlplane && go build -trimpath -ldflags "-s -w $(KUBERNETES_VERSION)" -o $(CONTROL_PLANE)/ ./cmd/...
	@touch $@

# Figures are those of the publisher as it ships.
PROFILE := $(if $(findstring figures,$(CASE)),release,debug)

e2e: module control-plane ## Publisher and manifests on a real API server (needs Go); with KUBE_SCHEDULER=PROGRAM, the scheduler, too
	$(CARGO) build --package stowage-publisher $(if $(findstring release,$(PROFILE)),--release)
	STOWAGE_CONTROL_PLANE=$(CONTROL_PLANE) STOWAGE_PUBLISHER=$(BUILD)/$(PROFILE)/stowage-publisher \
		STOWAGE_MODULE=$(CURDIR)/target/stowage.wasm $(CARGO) test --quiet --package stowage-e2e --test e2e -- $(CASE)

oci: module ## The module as an OCI artifact in an image layout: target/oci
	deploy/oci/layout.sh target/stowage.wasm target/oci

bench: setup ## Cost per call and its growth with the cluster (criterion, wasmtime fuel)
	$(CARGO) bench --workspace

OPENB := host-tests/testdata/openb
trace: setup ## Replay the openb trace under every formula and the module (tables and chart of docs/packing.md)
	$(STOWAGE) trace --nodes $(OPENB)/openb_node_list_gpu_node.csv --pods $(OPENB)/openb_pod_list_default.csv \
		--seeds 42-46 --policy-compare --chart docs/packing.svg
	$(STOWAGE) trace --nodes $(OPENB)/openb_node_list_gpu_node.csv --pods $(OPENB)/openb_pod_list_*.csv --seeds 42-46

fuzz: ## Fuzz every reader for FUZZ_SECONDS each (nightly, cargo-fuzz)
	cd fuzz && for target in $$(cargo +nightly fuzz list); do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(or $(FUZZ_SECONDS),60) || exit 1; done

clean: ## Remove everything that was built
	$(CARGO) clean
