#!/usr/bin/env bash
# layout.sh MODULE FOLDER: writes an OCI image layout that holds the module as a wasm artifact, in the form that CNCF's wasm
# working group describes: a config of type application/vnd.wasm.config.v0+json and one layer of type application/wasm. Any
# OCI client can push the folder. The same module gives the same digest.
set -euo pipefail
module=$1 layout=$2
blobs=$layout/blobs/sha256
rm -rf "$layout"
mkdir -p "$blobs"

digest() { sha256sum "$1" | cut -d' ' -f1; }
size() { wc -c <"$1" | tr -d ' '; }
# Takes a blob from stdin; answers its digest.
blob() {
    cat >"$layout/blob"
    local name
    name=$(digest "$layout/blob")
    mv "$layout/blob" "$blobs/$name"
    echo "$name"
}

layer=$(blob <"$module")
config=$(printf '{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip1","layerDigests":["sha256:%s"]}' "$layer" | blob)
manifest=$(
    printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",'
    printf '"config":{"mediaType":"application/vnd.wasm.config.v0+json","digest":"sha256:%s","size":%s},' "$config" "$(size "$blobs/$config")"
    printf '"layers":[{"mediaType":"application/wasm","digest":"sha256:%s","size":%s}]}' "$layer" "$(size "$blobs/$layer")"
)
manifest_digest=$(printf '%s' "$manifest" | blob)
printf '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":%s}]}' \
    "$manifest_digest" "$(size "$blobs/$manifest_digest")" >"$layout/index.json"
echo "sha256:$manifest_digest"
