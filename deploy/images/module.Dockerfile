# The module as an image: `docker build -f deploy/images/module.Dockerfile -t stowage-module target` after `make module`.
# With --target installer, an image that can copy it (deploy/overlays/init-container).
FROM busybox:1.37 AS installer
COPY --chmod=0444 stowage.wasm /plugin.wasm
USER 65532:65532

FROM scratch
COPY --chmod=0444 stowage.wasm /plugin.wasm
