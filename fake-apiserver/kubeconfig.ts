/** The text of a kubeconfig for an API server in memory: plain http, and a token or no credentials. */
export function kubeconfigFor(apiServer: string, token?: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    // Without this @kubernetes/client-node refuses http:// servers.
    clusters: [
      { name: 'embedded', cluster: { server: apiServer, 'insecure-skip-tls-verify': true } },
    ],
    users: [{ name: 'anyone', user: token === undefined ? {} : { token } }],
    contexts: [{ name: 'embedded', context: { cluster: 'embedded', user: 'anyone' } }],
    'current-context': 'embedded',
  });
}
