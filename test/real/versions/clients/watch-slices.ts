/**
 * Follows EndpointSlices of a namespace with the informer of the Kubernetes client for Node.js.
 *
 * Usage: watch-slices.ts KUBECONFIG NAMESPACE. Each line of the output is what it has then, as JSON: addresses by the
 * name of the slice.
 */
import {
  DiscoveryV1Api,
  KubeConfig,
  makeInformer,
  type V1EndpointSlice,
} from '@kubernetes/client-node';

const [path = '', namespace = ''] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(path);
const api = config.makeApiClient(DiscoveryV1Api);
const informer = makeInformer<V1EndpointSlice>(
  config,
  `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
  async () => await api.listNamespacedEndpointSlice({ namespace }),
);

function print(): void {
  const slices = informer
    .list()
    .map(({ metadata, endpoints }): [string, string[]] => [
      metadata?.name ?? '',
      (endpoints ?? []).flatMap(({ addresses }) => addresses).sort(),
    ]);
  console.log(JSON.stringify(Object.fromEntries(slices)));
}

informer.on('error', (error) => {
  console.error(error);
  process.exitCode = 1;
});
for (const verb of ['add', 'update', 'delete'] as const) informer.on(verb, print);
await informer.start();
