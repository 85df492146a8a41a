/** Command lines that fail immediately, each with its exit code and the line on stderr. */
export const REFUSED_COMMANDS: readonly (readonly [string[], number, RegExp])[] = [
  [['explain', 'a/b/c'], 2, /NAMESPACE\/SERVICE/],
  [['explain', '--admin', '127.0.0.1:1'], 1, /no wrapper answers at http:\/\/127.0.0.1:1/],
  [['explain', '--diff', '--admin', '127.0.0.1:1'], 2, /--diff needs a Service/],
  [
    ['simulate', '--from', 'x', '--kubeconfig', 'y'],
    2,
    /--from <FILE>' cannot be used with option '--kubeconfig/,
  ],
  [['simulate', '--kubeconfig', '/none'], 1, /the kubeconfig \/none cannot be read/],
  [['simulate', '--from', '/none.yaml'], 1, /cannot read \/none.yaml/],
  [['simulate', '--from', 'x', '--keys', '["a"'], 2, /--keys must be a JSON array/],
  [['simulate', '--from', 'x', '--keys', 'a,a'], 2, /--keys=\["a","a"\]: .* twice/],
  [['simulate', '--from', 'x', '--preset', 'near'], 2, /--preset="near": unknown preset/],
  [
    ['simulate', '--from', 'demo/cluster.yaml', '--service', 'web', '--service', 'nope'],
    1,
    /there is no Service default\/nope that kube-proxy watches/,
  ],
  [
    ['simulate', '--from', 'demo/cluster.yaml', '-n', 'nope'],
    1,
    /the input has no Service in namespace nope/,
  ],
  [
    ['simulate', '--from', 'demo/cluster.yaml', '-l', 'app=wbe'],
    1,
    /there is no Service with app=wbe that kube-proxy watches/,
  ],
  [['run'], 1, /no node name/],
  [['run', '--node-name', 'n', '--listen', '0.0.0.0:1'], 1, /"0\.0\.0\.0".*loopback only/],
  [['run', '--node-name', 'n', '--kubeconfig', '/none'], 1, /\/none/],
  [['run', '--node-name', 'n', '--config', '/none.yaml'], 1, /\/none\.yaml/],
  [['run', '--node-name', 'n'], 1, /in-cluster|KUBERNETES_SERVICE_HOST/],
  [['status', '--admin', '127.0.0.1:1'], 1, /no wrapper answers/],
  [['check', '--mode', 'ipvs'], 2, /check was removed: `status` .* `explain SERVICE`/],
  [['help', 'check'], 2, /check was removed/],
];
