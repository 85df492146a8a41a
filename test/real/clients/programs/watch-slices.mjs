/**
 * Follows the EndpointSlices of the namespace default with one of several libraries.
 *
 * Usage: watch-slices.mjs LIBRARY KUBECONFIG. Each line of the output is what it has then, as JSON: the sorted addresses.
 */
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const [library = '', path = ''] = process.argv.slice(2);
const namespace = 'default';

function show(slices) {
  const addresses = slices.flatMap(({ endpoints }) =>
    (endpoints ?? []).flatMap((endpoint) => endpoint.addresses),
  );
  console.log(JSON.stringify(addresses.sort()));
}

const RUNS = {
  'client-node': async () => {
    const { DiscoveryV1Api, KubeConfig, makeInformer } = await import('@kubernetes/client-node');
    const config = new KubeConfig();
    config.loadFromFile(path);
    const api = config.makeApiClient(DiscoveryV1Api);
    const informer = makeInformer(
      config,
      `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
      () => api.listNamespacedEndpointSlice({ namespace }),
    );
    for (const verb of ['add', 'update', 'delete']) informer.on(verb, () => show(informer.list()));
    // Its README starts the informer again after an error.
    informer.on('error', (error) => {
      console.error(String(error));
      setTimeout(() => informer.start().catch((problem) => console.error(String(problem))), 1_000);
    });
    await informer.start();
  },
  'fluent-client': async () => {
    process.env.KUBECONFIG = path;
    const { K8s, kind } = await import('kubernetes-fluent-client');
    const slices = new Map();
    const watcher = K8s(kind.EndpointSlice)
      .InNamespace(namespace)
      .Watch((slice, phase) => {
        if (phase === 'DELETED') slices.delete(slice.metadata.name);
        else slices.set(slice.metadata.name, slice);
        show([...slices.values()]);
      });
    await watcher.start();
  },
  // It knows the deprecated watch paths only, and leaves the next watch to its user.
  'kubernetes-client': async () => {
    const { default: kubernetes } = await import('kubernetes-client');
    const { default: Backend } = await import('kubernetes-client/backends/request/index.js');
    const kubeconfig = new kubernetes.KubeConfig();
    kubeconfig.loadFromFile(path);
    const backend = new Backend({ kubeconfig });
    const client = new kubernetes.Client({ backend, spec: { paths: {} } });
    const [group, version, plural] = ['discovery.k8s.io', 'v1', 'endpointslices'];
    const spec = { group, version, names: { plural }, scope: 'Namespaced' };
    client.addCustomResourceDefinition({ spec });
    const watched = client.apis[group][version].watch.namespaces(namespace)[plural];
    while (true) {
      const slices = new Map();
      const stream = await watched.getObjectStream();
      stream.on('data', ({ type, object }) => {
        if (type === 'DELETED') slices.delete(object.metadata.name);
        else slices.set(object.metadata.name, object);
        show([...slices.values()]);
      });
      await finished(stream).catch((error) => console.error(String(error)));
      await sleep(1_000);
    }
  },
};

await RUNS[library]?.();
