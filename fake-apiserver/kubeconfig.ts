/** The text of a kubeconfig with one context, as JSON, which is YAML too. */
export function kubeconfigOf(cluster: object, user: object): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'edge', cluster }],
    users: [{ name: 'proxy', user }],
    contexts: [{ name: 'main', context: { cluster: 'edge', user: 'proxy' } }],
    'current-context': 'main',
  });
}

/** The text of a kubeconfig for an API server in memory: plain http, and a token or no credentials. */
export function kubeconfigFor(apiServer: string, token?: string): string {
  // Without this @kubernetes/client-node refuses http:// servers.
  const cluster = { server: apiServer, 'insecure-skip-tls-verify': true };
  return kubeconfigOf(cluster, token === undefined ? {} : { token });
}
