import { beforeEach, describe, expect, test } from '@jest/globals';
import { findService, helpOf, parseLine, runChange, TERMINAL } from '../../demo/commands.ts';
import { EXAMPLE, loadCluster } from '../../demo/load-cluster.ts';
import { type ApiServer, createApiServer } from '../../fake-apiserver/api-server.ts';

let server: ApiServer;

beforeEach(() => {
  server = createApiServer();
  loadCluster(server, [EXAMPLE]);
});

function policyOf(service: string): string | undefined {
  return server.get('services', service)?.metadata.annotations?.topologyKeys;
}

test.each([
  ['annotate web topologyKeys=["site"]'],
  ['annotate web topologyKeys=\'["site"]\''],
  ['kubectl annotate svc web topologyKeys=\'["site"]\''],
  ['  annotate  default/web   topologyKeys=["site"] '],
])('%s is understood, as users of kubectl type it', (line) => {
  runChange(server, line);
  expect(policyOf('web')).toBe('["site"]');
});

test('label and annotate set and remove', () => {
  expect(runChange(server, 'label node edge-1 site=b')).toBe('labelled edge-1');
  expect(server.get('nodes', 'edge-1')?.metadata.labels?.site).toBe('b');
  runChange(server, 'label edge-1 site-');
  expect(server.get('nodes', 'edge-1')?.metadata.labels?.site).toBeUndefined();
  runChange(server, 'annotate web topologyKeys-');
  expect(policyOf('web')).toBeUndefined();
});

test.each([
  ['lable edge-1 site=b', 'unknown command "lable". Did you mean label? Type help'],
  [
    'label edge-9 site=b',
    /^there is no node edge-9\. Did you mean edge-\d\? The nodes are cloud-1, /,
  ],
  ['label edge-1', 'write KEY=VALUE, or KEY- to remove it'],
  ['label edge-1 site=a-', 'site=a- is not a label; site- removes one'],
  ['annotate wbe a=b', /^there is no Service default\/wbe\. Did you mean web\? The Services are /],
  ['notready 1.2.3.4', 'no endpoint has the address 1.2.3.4; show SERVICE lists them'],
])('the error of %j says what is wrong and what to type', (line, message) => {
  expect(() => runChange(server, line)).toThrow(message);
});

describe('the name of a Service', () => {
  test('needs no namespace if it is unique', () => {
    expect(findService(server, 'web')).toBe('default/web');
    expect(findService(server, 'dns')).toBe('kube-system/dns');
    expect(findService(server, 'svc/kube-system/dns')).toBe('kube-system/dns');
  });

  test('names the candidates if it is not', () => {
    for (const namespace of ['a', 'b']) {
      server.create('services', { metadata: { name: 'api', namespace } } as never);
    }
    expect(() => findService(server, 'api')).toThrow('2 Services have this name: a/api, b/api');
  });
});

test('each example of help is a valid line', () => {
  const text = helpOf({
    node: 'edge-1',
    otherNode: 'edge-2',
    service: 'web',
    address: '10.244.1.10',
  });
  const examples = text.split('\n').map((line) => line.trim().split(/ {2,}/)[0] ?? '');
  expect(examples).toHaveLength(10);
  for (const line of examples) {
    const { verb } = parseLine(line);
    if (TERMINAL.some((name) => name === verb)) continue;
    expect(runChange(server, line)).not.toBe('');
  }
});
