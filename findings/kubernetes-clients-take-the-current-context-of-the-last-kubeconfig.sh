#!/bin/bash
# @kubernetes/client-node 2.0.1 (JavaScript) and kubernetes 37.0.2 (Python), KUBECONFIG with two files.
# Expected: as kubectl and the documentation of kubeconfig files ("the first file to set a particular value wins; preserve the
#   context of the first file to set current-context"): with KUBECONFIG=test:production, kubectl 1.36.3 uses test.
# Seen: both take the current-context of the last file that has one, with no warning. In Python an empty current-context in
#   the last file, as kubectl config unset leaves it, removes that of the first. In JavaScript the behaviour of kubectl is the
#   second argument of loadFromDefault, which is off by default.
# Who meets it: scripts and operators that run beside kubectl with the same KUBECONFIG, and then read or write another
#   cluster than kubectl does.
# Output, 2026-11-28:
#   test, then production       JavaScript: production https://192.0.2.2 | Python: production https://192.0.2.2
#   production, then test       JavaScript: test https://192.0.2.1 | Python: test https://192.0.2.1
#   test, then an empty one     JavaScript: test https://192.0.2.1 | Python: Expected object with name  in test/contexts list
#   still so
set -u; d=$(mktemp -d); trap 'rm -rf "$d"' EXIT; cd "$d"; export HOME="$d"
{ npm init -y && npm i --no-audit --no-fund --silent node@24.21.0 @kubernetes/client-node@2.0.1 && python3 -m venv v && v/bin/pip install -q kubernetes==37.0.2; } >/dev/null 2>&1 || { echo "install fails"; exit 1; }
config() { cat > "$1" <<C
apiVersion: v1
kind: Config
current-context: "$2"
clusters: [{name: $1, cluster: {server: "https://192.0.2.$3"}}]
users: [{name: $1, user: {token: none}}]
contexts: [{name: $1, context: {cluster: $1, user: $1}}]
C
}
config test test 1; config production production 2; config unset "" 3
cat > t.mjs <<'J'
import { KubeConfig } from '@kubernetes/client-node';
const config = new KubeConfig();
try { config.loadFromDefault(); console.log(`${config.currentContext} ${config.getCurrentCluster().server}`); } catch (e) { console.log(e.message); }
J
cat > t.py <<'P'
from kubernetes import client, config
try:
    config.load_kube_config(); print(config.list_kube_config_contexts()[1]['name'], client.Configuration.get_default_copy().host)
except Exception as e:
    print(str(e).replace('Invalid kube-config file. ', ''))
P
both() { export KUBECONFIG="$1"; echo "JavaScript: $(timeout 20 node_modules/.bin/node t.mjs) | Python: $(timeout 20 v/bin/python t.py)"; }
a=$(both test:production); b=$(both production:test); c=$(both test:unset)
printf '%-27s %s\n' 'test, then production' "$a" 'production, then test' "$b" 'test, then an empty one' "$c"
p='production https://192.0.2.2'; t='test https://192.0.2.1'
[ "$a" = "JavaScript: $p | Python: $p" ] && [ "$b" = "JavaScript: $t | Python: $t" ]; rc=$?
[ $rc = 0 ] && echo "still so" || echo "changed"; exit $rc
