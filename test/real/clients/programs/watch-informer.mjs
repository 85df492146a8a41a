/**
 * Follows the EndpointSlices of the namespace default with an informer of client-go.
 *
 * Usage: watch-informer.mjs PROGRAM client-go KUBECONFIG, where PROGRAM is built from harness/components/informer. Each
 * line of the output is what it has then, as JSON: the sorted addresses.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const POLL_MS = 20;
const [program = '', name = '', kubeconfig = ''] = process.argv.slice(2);
const slices = { resource: 'endpointslices', namespace: 'default' };
const config = [{ name, kubeconfig, ...slices, contentType: 'protobuf', streaming: true }];
const informer = spawn(program, ['--config', JSON.stringify(config)], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
informer.on('exit', (code) => process.exit(code ?? 1));
setInterval(() => informer.stdin.write('dump\n'), POLL_MS);
let last = '';
createInterface({ input: informer.stdout }).on('line', (line) => {
  const { dump } = JSON.parse(line);
  const addresses = dump?.[0].handled.flatMap(({ endpoints }) => endpoints);
  if (addresses === undefined || last === JSON.stringify(addresses.sort())) return;
  last = JSON.stringify(addresses);
  console.log(last);
});
