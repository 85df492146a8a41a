/** Measures what views of others cost the process, and whether kube-proxy is served beside them; see ../NOTES.md. */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  currentKubeProxyQueries,
  kubeProxyQueries,
} from '../../src/client/api/kube-proxy-queries.ts';
import { type Query, queryPath } from '../../src/client/api/query.ts';
import { startBigCluster } from './big-cluster.ts';
import { startMeasured } from './process.ts';

const { values } = parseArgs({
  options: {
    wrapper: { type: 'string', default: 'dist/main.js' },
    services: { type: 'string', default: '5000' },
    endpoints: { type: 'string', default: '20' },
    views: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
  },
});

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const STREAM =
  'allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true';
/** The path of a streaming list. */
function streamOf(query: Query): string {
  const path = queryPath(query);
  return `${path}${path.includes('?') ? '&' : '?'}${STREAM}`;
}

/** The queries of kube-proxy 1.36. */
const OWN = currentKubeProxyQueries('node-0').map(streamOf);

const open: ClientRequest[] = [];
const cluster = await startBigCluster(Number(values.services), Number(values.endpoints));
const wrapper = await startMeasured(values.wrapper, cluster.url);
const { port, adminPort, memory } = wrapper;
try {
  const note = async (what: string, more: object = {}): Promise<void> =>
    console.log(JSON.stringify({ what, ...(await memory()), ...more }));
  await note('started');
  await Promise.all(OWN.map((path) => watch(path, PROTOBUF)));
  await sleep(8_000);
  await note('kube-proxy served');
  const lists = cluster.lists();
  const codes: Record<string, number> = {};
  for (let n = 0; n < Number(values.views); n++) {
    const path = `${SLICES}?labelSelector=x%21%3D${n}&${STREAM}`;
    const code = await watch(path, values.json ? 'application/json' : PROTOBUF);
    codes[code] = (codes[code] ?? 0) + 1;
  }
  await sleep(2_000);
  await note(`${values.views} more views`, { codes, lists: cluster.lists() - lists });
  for (const each of open.splice(0, OWN.length)) each.destroy();
  const started = performance.now();
  const again = await Promise.all(OWN.map((path) => watch(path, PROTOBUF)));
  const ms = Math.round(performance.now() - started);
  await note('kube-proxy restarted', { codes: again, ms });
  const older = kubeProxyQueries('node-0').map(streamOf);
  const all = await Promise.all(older.map((path) => watch(path, PROTOBUF)));
  await sleep(2_000);
  await note('every query of every kube-proxy', { codes: all });
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  console.log(
    metrics
      .split('\n')
      .filter((line) => line.startsWith('kube_proxy_wrapper_view_budget'))
      .join('\n'),
  );
} finally {
  for (const each of open) each.destroy();
  await wrapper.stop();
  await cluster.close();
}

/** Opens a watch and reads it to the end of the initial events; the status of the answer. */
async function watch(path: string, accept: string): Promise<number> {
  const sent = request({ host: '127.0.0.1', port, path, headers: { accept } });
  sent.on('error', () => {});
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { statusCode = 0 } = response;
  if (statusCode !== 200) {
    response.resume();
    return statusCode;
  }
  open.push(sent);
  response.on('error', () => {});
  await new Promise<void>((resolve) => {
    let tail = '';
    response.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.subarray(-4096).toString('latin1')).slice(-8192);
      if (tail.includes('k8s.io/initial-events-end')) resolve();
    });
    response.once('close', resolve);
  });
  return statusCode;
}
