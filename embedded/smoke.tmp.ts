import { readFileSync } from 'node:fs';
import { createApiServer } from './api-server.ts';

const s = createApiServer();
console.log(s.loadYaml(readFileSync('examples/cluster.yaml', 'utf8')), s.resourceVersion);
const url = await s.listen(Number(process.argv[2] ?? 0));
console.log(url);
if (process.argv[2]) await new Promise(() => {});
const r = await fetch(`${url}/api/v1/nodes?labelSelector=site%3Da`);
console.log(r.status, r.headers.get('content-type'), (await r.text()).slice(0, 300));
const w = await fetch(
  `${url}/api/v1/services?watch=1&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=1&fieldSelector=spec.clusterIP!%3DNone`,
);
s.annotate('default/web', 'x', 'y');
console.log((await w.text()).split('\n').map((l) => l.slice(0, 120)));
const e = await fetch(`${url}/api/v1/nodes?resourceVersion=999`, {
  headers: { accept: 'application/vnd.kubernetes.protobuf' },
});
console.log(e.status, e.headers, Buffer.from(await e.arrayBuffer()).toString('latin1'));
console.log(s.requests.length, s.openWatches().length);
console.time('close');
await s.close();
console.timeEnd('close');
