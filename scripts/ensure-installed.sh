#!/bin/sh
# Installs the npm packages of the lock file unless they are there, so that each npm script works on a fresh clone. A
# copy of the lock file records what is installed. Modification times do not help if packages come from a cache.
set -eu
cd "$(dirname "$0")/.."
installed=node_modules/.installed-lock.json
if ! cmp -s package-lock.json "$installed"; then
  echo "installing npm packages" >&2
  # It removes node_modules first, so a failed installation does not look like the previous one.
  npm ci --loglevel=error >&2
  cp package-lock.json "$installed"
fi
