#!/bin/sh
# Installs the npm packages unless they are those of the lock file, so that each npm script works on a fresh
# clone. A copy of the lock file tells which they are: times do not, when packages come from a cache.
# `npm install`, not `npm ci`: a lock file made where a registry serves packages of one platform only lacks the
# optional packages of the others, and `npm ci` refuses that.
set -eu
cd "$(dirname "$0")/.."
installed=node_modules/.installed-lock.json
if ! cmp -s package-lock.json "$installed"; then
  echo "installing npm packages" >&2
  # Else one that breaks off would count as the one before.
  rm -f "$installed"
  npm install --no-fund --no-audit --loglevel=error >&2
  cp package-lock.json "$installed"
fi
