import type { Command } from '../command.ts';

export const HELP = `Shows, before a rollout, which endpoints of each Service every node would see. It uses the same code as the wrapper
on the nodes, and does not write anything.

Usage:
  kube-proxy-wrapper simulate --from FILE... [flags]      Nodes, Services, EndpointSlices from manifests
  kube-proxy-wrapper simulate --kubeconfig FILE [flags]   the same, read once from a cluster

Flags:
  --from FILE          YAML or JSON from kubectl get -o yaml; can be given several times.
                       If an object occurs more than once, the last one counts
  --kubeconfig FILE    read a cluster; needs the right to list Nodes, Services and EndpointSlices
  --config FILE        settings of the wrapper (defaults, communities, edge nodes, …)
  --keys KEYS          keys for Services without an annotation: a JSON array, or a list with commas
  --preset NAME        the same, with the name of a preset
  --set CHANGE         try a change; can be given several times: node/NAME:LABEL=VALUE,
                       service/NAMESPACE/NAME:ANNOTATION=VALUE, namespace/NAME:ANNOTATION=VALUE. KEY- removes a key
  --service NS/NAME    only this Service, with details; can be given several times
  --max-load N         warn about endpoints with more than N times the mean load, if every node sends the
                       same traffic; default 5; 0 switches the warning off
  --diff               show only what --keys, --preset and --set change, and the new warnings
  --against FILE       the same, but compare with the objects in another file
  -o, --output FORMAT  text (default), json or csv

Examples:
  kubectl get nodes,services,endpointslices -A -o yaml > cluster.yaml
  kube-proxy-wrapper simulate --from cluster.yaml
  kube-proxy-wrapper simulate --from cluster.yaml --preset prefer-same-zone --diff
  kube-proxy-wrapper simulate --from cluster.yaml --set node/edge-1:site=b --diff
  kube-proxy-wrapper simulate --from new.yaml --against old.yaml

Exit codes: 0 no warnings, 1 the input cannot be read, 2 wrong command line, 3 there are warnings (with --diff:
new ones). Lines that begin with "i" are for information only.
`;

export const OPTIONS: Command['options'] = {
  from: { type: 'string', multiple: true },
  kubeconfig: { type: 'string' },
  config: { type: 'string' },
  keys: { type: 'string' },
  preset: { type: 'string' },
  set: { type: 'string', multiple: true },
  service: { type: 'string', multiple: true },
  'max-load': { type: 'string' },
  diff: { type: 'boolean' },
  against: { type: 'string', multiple: true },
  output: { type: 'string', short: 'o' },
};
