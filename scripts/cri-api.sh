#!/bin/sh
# Generates src/node/local-runtime/cri/api_pb.ts from api.proto beside it, which says where it comes from. Both generators
# come from npm and are not dependencies of the project, because the result is in the repository. protoc-gen-es must have
# the version of @bufbuild/protobuf.
set -eu
cd "$(dirname "$0")/../src/node/local-runtime/cri"
npx --yes --package @bufbuild/buf@1.75.0 --package @bufbuild/protoc-gen-es@2.17.0 -- \
  buf generate api.proto \
  --template '{"version":"v2","plugins":[{"local":"protoc-gen-es","out":".","opt":"target=ts"}]}'
