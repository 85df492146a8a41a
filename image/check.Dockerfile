# syntax=docker/dockerfile:1
#
# The image of manifests/components/check: the program of the wrapper's image, beside the tools that list kube-proxy's
# tables. The wrapper's own image has none of them.
#
#   docker buildx build --platform linux/amd64,linux/arm64 -f image/check.Dockerfile \
#     --build-arg WRAPPER_IMAGE=registry.example.net/kube-proxy-wrapper:1.1.0 \
#     -t registry.example.net/kube-proxy-wrapper-check:1.1.0 --push .

ARG WRAPPER_IMAGE=registry.example.com/kube-proxy-wrapper:1.1.0
ARG BASE_IMAGE=node:24-trixie-slim

FROM ${WRAPPER_IMAGE} AS wrapper

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="kube-proxy-wrapper-check" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/example/kube-proxy-wrapper"
# netbase has /etc/protocols, from which nft knows the names of protocols.
RUN apt-get update && \
    apt-get install -y --no-install-recommends nftables iptables netbase && \
    rm -rf /var/lib/apt/lists/* && \
    mkdir -p /nodejs/bin && ln -s /usr/local/bin/node /nodejs/bin/node
COPY --from=wrapper /app /app
COPY --from=wrapper /usr/local/bin/kube-proxy-wrapper /usr/local/bin/
ENV NODE_ENV=production
ENTRYPOINT ["/usr/local/bin/kube-proxy-wrapper"]
CMD ["check"]
