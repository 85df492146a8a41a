#!/bin/sh
# Installs the npm packages when they are missing or older than the lock file, so that each npm script
# works on a fresh clone. `npm install`, not `npm ci`: a lock file made where a registry serves packages
# of one platform only lacks the optional packages of the others, and `npm ci` refuses that.
set -eu
cd "$(dirname "$0")/.."
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo "installing npm packages" >&2
  npm install --no-fund --no-audit --loglevel=error >&2
  touch node_modules/.package-lock.json
fi
