/**
 * Writes an Event as kube-proxy does, and then changes it as client-go does. A program of its own, for it runs
 * in a node's namespace: `node write-events.ts URL NAME` prints what each request got, by `<group> <verb>`.
 */
const [, , server = '', name = ''] = process.argv;

const now = new Date().toISOString().replace('Z', '000Z');
const regarding = { kind: 'Node', name: 'edge-1' };
const object = { kind: 'Node', name: 'edge-1' };
const metadata = { name, namespace: 'default' };

const groups = [
  {
    group: '',
    path: '/api/v1/namespaces/default/events',
    event: {
      ...{ apiVersion: 'v1', kind: 'Event', metadata, involvedObject: object },
      source: { component: 'kube-proxy', host: 'edge-1' },
      ...{ reason: 'Test', message: 'a', type: 'Normal' },
    },
    change: { message: 'b' },
  },
  {
    group: 'events.k8s.io',
    path: '/apis/events.k8s.io/v1/namespaces/default/events',
    event: {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { ...metadata, name: `${name}-new` },
      eventTime: now,
      reportingController: 'kube-proxy',
      reportingInstance: 'kube-proxy-edge-1',
      action: 'StartKubeProxy',
      reason: 'Starting',
      type: 'Normal',
      regarding,
    },
    change: { series: { count: 2, lastObservedTime: now } },
  },
];

const statuses: Record<string, number> = {};
for (const { group, path, event, change } of groups) {
  const own = `${path}/${event.metadata.name}`;
  statuses[`${group} create`] = await send('POST', path, event, 'application/json');
  const patch = 'application/strategic-merge-patch+json';
  statuses[`${group} patch`] = await send('PATCH', own, change, patch);
}
process.stdout.write(JSON.stringify(statuses));

async function send(method: string, path: string, body: object, type: string): Promise<number> {
  const headers = { 'content-type': type };
  const answer = await fetch(server + path, { method, headers, body: JSON.stringify(body) });
  await answer.arrayBuffer();
  return answer.status;
}
