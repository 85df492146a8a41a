# syntax=docker/dockerfile:1
#
# One image for all architectures. The build makes JavaScript, so it runs once, on the architecture of the build machine.
# Only the base of the second stage differs.
#
#   docker buildx build --platform linux/amd64,linux/arm64 \
#     --build-arg VERSION="$(node -p 'require("./package.json").version')" \
#     --build-arg REVISION="$(git rev-parse HEAD)" \
#     -t registry.example.com/kube-proxy-wrapper:1.1.0 --push .

# The second stage needs Node at /nodejs/bin/node, as in the distroless images; see image/.
ARG BUILD_IMAGE=node:24-trixie-slim
ARG BASE_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot

FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts scripts
COPY page page
COPY src src
COPY cli cli
RUN npm run build

FROM ${BASE_IMAGE}
ARG VERSION=0.0.0-dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="kube-proxy-wrapper" \
      org.opencontainers.image.description="Shows an unmodified kube-proxy only the endpoints each Service's topology policy selects" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/example/kube-proxy-wrapper" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# What changes least comes first, so that an update transfers few bytes over a slow link.
COPY --chmod=0555 image/kube-proxy-wrapper image/own-state-dir /usr/local/bin/
COPY LICENSE /app/LICENSE
COPY --from=build /src/package.json /app/package.json
# These contain all their dependencies: there is no node_modules.
COPY --from=build /src/dist/THIRD-PARTY-LICENSES /src/dist/*.js /src/dist/*.json /app/dist/

# main.js sets the V8 options itself.
ENV NODE_ENV=production \
    PATH=/usr/local/bin:/nodejs/bin:/usr/bin:/bin

# A number, so that kubelet can check that it is not root (runAsNonRoot). Not 65532, which every distroless image uses:
# processes of one user can share ports. The process writes only to `stateDir`.
USER 10360:10360
WORKDIR /app

# For docker and podman. Kubernetes ignores it and uses the probes of the manifests. The image has no curl.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["/nodejs/bin/node", "-e", "fetch('http://127.0.0.1:10361/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["/usr/local/bin/kube-proxy-wrapper"]
CMD ["run"]
