#!/bin/sh
# Installs the npm packages unless they match the lock file, so that each npm script works on a fresh clone. A copy
# of the lock file records what is installed. Modification times do not help if packages come from a cache.
# `npm install`, not `npm ci`: a lock file may lack the optional packages of other platforms, and `npm ci` refuses that.
set -eu
cd "$(dirname "$0")/.."
installed=node_modules/.installed-lock.json
if ! cmp -s package-lock.json "$installed"; then
  echo "installing npm packages" >&2
  # Otherwise a failed installation would look like the previous one.
  rm -f "$installed"
  npm install --no-fund --no-audit --loglevel=error >&2
  cp package-lock.json "$installed"
fi
