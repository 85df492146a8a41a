/**
 * Measures what `kubectl kpw fleet` costs, in a cluster with as many Services as the argument says (default 1,000) and
 * three nodes. docs/commands.md has the figures for 1,000 nodes that follow from it.
 */
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { repository } from '../deploy/support/repository.ts';
import { runCommand } from '../e2e/support/run-command.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { installKubeProxy, rolledOut } from './support/kube-proxy.ts';
import { writeOverlay } from './support/overlay.ts';
import { createWorkspace } from './support/workspace.ts';

/** One TCP connection of the command to the API server, TLS included. */
interface Connection {
  sent: number;
  received: number;
  /** Milliseconds from its start until it was closed. */
  ms: number;
}

/** Forwards connections and counts their bytes. */
async function startCounter(server: URL) {
  const connections: Connection[] = [];
  const listener = createServer((client: Socket) => {
    const counted = { sent: 0, received: 0, ms: 0 };
    connections.push(counted);
    const start = performance.now();
    const upstream = connect(Number(server.port), server.hostname);
    client.pipe(upstream).pipe(client);
    client.on('data', (data) => {
      counted.sent += data.length;
    });
    upstream.on('data', (data) => {
      counted.received += data.length;
    });
    for (const each of [client, upstream]) each.on('error', () => client.destroy());
    client.on('close', () => {
      counted.ms = Math.round(performance.now() - start);
      upstream.destroy();
    });
  });
  await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as { port: number };
  return { url: `https://127.0.0.1:${port}`, connections, close: () => listener.close() };
}

async function createServices({ admin, nodes }: Cluster, count: number): Promise<void> {
  const create = async (index: number) => {
    const name = `service-${index}`;
    const annotations = { topologyKeys: '["kubernetes.io/hostname","*"]' };
    await admin.create('/api/v1/namespaces/default/services', {
      metadata: { name, annotations },
      spec: { ports: [{ port: 80, targetPort: 8080 }] },
    });
    await admin.create('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      metadata: { name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: nodes.map((node, at) => ({
        addresses: [`10.244.${at + 1}.${(index % 250) + 1}`],
        nodeName: node.name,
        conditions: { ready: true },
      })),
      ports: [{ port: 8080, protocol: 'TCP' }],
    });
  };
  for (let index = 0; index < count; index += 10) {
    await Promise.all(
      Array.from({ length: 10 }, async (_, offset) => await create(index + offset)),
    );
  }
}

/** Requests that the API server has answered so far, by verb and resource, of users. */
async function requestsSoFar(cluster: Cluster): Promise<Map<string, number>> {
  const metrics = await cluster.kubectl(['get', '--raw', '/metrics']);
  const found = new Map<string, number>();
  for (const [, labels = '', value] of metrics.matchAll(
    /^apiserver_request_total[{](.*)[}] (\S+)$/gm,
  )) {
    const of = (label: string) => new RegExp(`${label}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const key = `${of('verb')} ${of('resource')}${of('subresource') && `/${of('subresource')}`}`;
    found.set(key, (found.get(key) ?? 0) + Number(value));
  }
  return found;
}

const WANTED =
  /^(LIST|GET|CONNECT) (pods|nodes|services|endpointslices|configmaps|pods[/]portforward)$/;
const count = Number(process.argv[2] ?? 1_000);
const cluster = await startCluster();
try {
  const program = join(repository, 'dist/kubectl-kpw.js');
  const workspace = createWorkspace(cluster, { 'kubectl-kpw': program });
  await installKubeProxy(cluster, { mode: 'nftables', server: 'http://127.0.0.1:10360' });
  writeOverlay(workspace);
  await workspace.run('kubectl apply --server-side -k my-cluster');
  await rolledOut(cluster, 'kube-proxy-wrapper');
  await createServices(cluster, count);
  const config = JSON.parse(await cluster.kubectl(['config', 'view', '--raw', '-o', 'json']));
  const [{ cluster: entry }] = config.clusters;
  const counter = await startCounter(new URL(entry.server));
  entry.server = counter.url;
  workspace.write('counted.json', JSON.stringify(config));
  const kubeconfig = join(workspace.folder, 'counted.json');
  for (const args of [['fleet'], ['fleet', '--parallel', '1'], ['fleet', 'service-1']]) {
    for (let run = 0; run < 3; run++) {
      counter.connections.length = 0;
      const before = await requestsSoFar(cluster);
      const start = performance.now();
      const command = `TIMEFORMAT='%U %S'; time node ${program} ${args.join(' ')} --kubeconfig ${kubeconfig} 2>&1`;
      const said = await runCommand('bash', ['-c', `( ${command} ) 2>&1 || true`]);
      const ms = Math.round(performance.now() - start);
      const after = await requestsSoFar(cluster);
      const requests = [...after]
        .map(([key, value]) => `${value - (before.get(key) ?? 0)} ${key}`)
        .filter((each) => WANTED.test(each.replace(/^\d+ /, '')) && !each.startsWith('0 '));
      console.log(args.join(' '), ms, 'ms;', said.trim().split('\n').slice(-2).join(' | CPU s '));
      console.log('  connections', JSON.stringify(counter.connections));
      console.log('  requests', requests.join(', '));
    }
  }
  counter.close();
  const pods = await cluster.kubectl([
    ...['get', '--raw'],
    '/api/v1/pods?labelSelector=app.kubernetes.io%2Fname%3Dkube-proxy-wrapper',
  ]);
  console.log('bytes of the list of Pods, for a Pod', Math.round(pods.length / 3));
} finally {
  await cluster.stop();
}
