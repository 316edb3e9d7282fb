# The publisher: `docker build -f deploy/images/publisher.Dockerfile -t stowage-publisher .`
FROM rust:1.95-slim-trixie AS build
WORKDIR /stowage
COPY . .
RUN cargo build --locked --release --package stowage-publisher

FROM debian:trixie-slim
COPY --from=build /stowage/target/release/stowage-publisher /stowage-publisher
USER 65532:65532
ENTRYPOINT ["/stowage-publisher"]
