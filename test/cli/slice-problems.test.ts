import { describe, expect, test } from '@jest/globals';
import { formatProblemsOfServices } from '../../cli/output/format-problems.ts';
import { addObject, COLLECTIONS, emptyCluster } from '../../cli/simulate/cluster-objects.ts';
import { findingsOf } from '../../cli/simulate/findings.ts';
import { simulate } from '../../cli/simulate/simulation.ts';
import { nodeProxyOptions } from '../../src/config/node-proxy-options.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { JsonCodec } from '../../src/filter/codec/json/json-codec.ts';

/* Slices that real controllers leave behind or write, and of which kube-proxy uses nothing, or something unexpected. */

const SERVICE = 'kubernetes.io/service-name';
const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const CONTROLLER = 'endpointslice-controller.k8s.io';
const MIRRORING = 'endpointslicemirroring-controller.k8s.io';
const settings = nodeProxyOptions(loadSettings({ nodeName: 'any' }, {}, undefined));
const codec = new JsonCodec();

interface SliceRow {
  readonly name?: string;
  readonly labels?: Record<string, string | undefined>;
  readonly annotations?: Record<string, string>;
  readonly port?: object;
  readonly node?: string;
  readonly family?: string;
}

function findings(spec: object, slices: readonly SliceRow[], uid = 'u'): string[] {
  const cluster = emptyCluster();
  const add = (kind: string, object: object) => {
    const resource = COLLECTIONS.find((each) => each.kind === kind);
    if (resource === undefined) throw new Error(`there is no kind ${kind}`);
    addObject(cluster, resource, codec, Buffer.from(JSON.stringify(object)));
  };
  for (const name of ['a1', 'a2']) add('Node', { metadata: { name, labels: { site: 'a' } } });
  add('Service', {
    metadata: { name: 'web', namespace: 'default', uid, annotations: { topologyKeys: '["site"]' } },
    spec: { clusterIP: '10.96.0.1', ports: [{ name: 'http', port: 80 }], ...spec },
  });
  for (const { name = 'web-1', labels, annotations, port, node = 'a1', family } of slices) {
    const address = family === 'IPv6' ? 'fd00::1' : '10.0.0.1';
    add('EndpointSlice', {
      metadata: {
        name,
        namespace: 'default',
        labels: { [SERVICE]: 'web', ...labels },
        annotations,
      },
      addressType: family ?? 'IPv4',
      ports: [port ?? { name: 'http', port: 8080 }],
      endpoints: [{ addresses: [address], nodeName: node, conditions: { ready: true } }],
    });
  }
  return findingsOf(simulate(cluster, settings)).map(
    (found) => `${found.code} ${formatProblemsOfServices([found]).split('\n')[0]}`,
  );
}

describe('simulate names', () => {
  const selector = { selector: { app: 'web' } };

  test.each<[string, object, SliceRow[], RegExp[]]>([
    ['nothing about a slice that is used', selector, [{}], []],
    [
      'slices that a headless Service has left',
      selector,
      [{ labels: { 'service.kubernetes.io/headless': '' } }],
      [/^slices-headless ! default\/web: .* headless Service: web-1$/],
    ],
    [
      'such slices beside others',
      selector,
      [{}, { name: 'old', labels: { 'service.kubernetes.io/headless': '' } }],
      [/^slices-headless i .*: old$/],
    ],
    [
      'a Service with a selector and no slice',
      selector,
      [],
      [/^no-slices ! .*no EndpointSlice that/],
    ],
    ['nothing about one without a selector and without slices', {}, [], []],
    [
      'a slice with the name of a Service and without its label',
      {},
      [{ name: 'web', labels: { [SERVICE]: undefined } }],
      [/^slice-without-label ! default\/web: an EndpointSlice has the name of the Service/],
    ],
    [
      'nothing about a slice without a label that has another name, or is beside one with it',
      {},
      [{}, { name: 'web', labels: { [SERVICE]: undefined } }],
      [],
    ],
    [
      'a port without a number',
      selector,
      [{ port: { name: 'http' } }],
      [/^port-without-number ! .*kube-proxy ignores: IPv4 TCP\/http$/],
    ],
    [
      'a port with another name',
      selector,
      [{ port: { name: 'web', port: 80 } }],
      [/^port-without-endpoints ! .*: IPv4 TCP\/http$/],
    ],
    [
      'a port with another protocol',
      selector,
      [{ port: { name: 'http', protocol: 'UDP', port: 80 } }],
      [/^port-without-endpoints ! .*: IPv4 TCP\/http$/],
    ],
    [
      'slices of another cluster with a node of this one, as Karmada writes them',
      {},
      [
        {
          name: 'member1-web-1',
          labels: { [MANAGED_BY]: 'endpointslice-dispatch-controller.karmada.io' },
          annotations: { 'endpointslice.karmada.io/provision-cluster': 'member1' },
        },
      ],
      [/^imported-slices ! .*: member1-web-1 of cluster member1 \(a1\)$/],
    ],
    [
      'the same, as the MCS API labels them',
      {},
      [{ labels: { 'multicluster.kubernetes.io/source-cluster': 'b' } }],
      [/^imported-slices ! .*: web-1 of cluster b \(a1\)$/],
    ],
    [
      'the same, if only their controller is known',
      {},
      [{ labels: { [MANAGED_BY]: 'endpointslice-mesh-controller.cilium.io' } }],
      [/^imported-slices ! .*: web-1 of another cluster \(a1\)$/],
    ],
    [
      'only that nothing is left, if the nodes of the other cluster have other names',
      {},
      [{ node: 'b1', labels: { 'multicluster.kubernetes.io/source-cluster': 'b' } }],
      [/^no-endpoint ! .*: a1, a2$/],
    ],
    // Nothing writes it again (kubernetes/kubernetes#118376): a near one that is dead takes all traffic of its node.
    [
      'the slice that a selector has left when it was removed, and not its mirrored copy',
      {},
      [
        { labels: { [MANAGED_BY]: CONTROLLER } },
        { name: 'copy', labels: { [MANAGED_BY]: MIRRORING } },
      ],
      [
        /^slices-left ! default\/web: EndpointSlices are no longer updated, because the selector of the Service was removed or added: web-1$/,
      ],
    ],
    [
      'nothing about the slices of a manifest without its selector',
      {},
      [{ labels: { [MANAGED_BY]: CONTROLLER } }],
      [],
    ],
    [
      'the mirrored copy that is left when it returns',
      selector,
      [
        { labels: { [MANAGED_BY]: CONTROLLER } },
        { name: 'copy', labels: { [MANAGED_BY]: MIRRORING } },
      ],
      [/^slices-left ! .*: copy$/],
    ],
  ])('%s', (_, spec, slices, expected) => {
    const seen = findings(spec, slices);
    expect(seen).toHaveLength(expected.length);
    for (const [at, pattern] of expected.entries()) expect(seen[at]).toMatch(pattern);
  });

  test('a manifest that was never applied as one without slices yet, for information', () => {
    expect(findings(selector, [], '')).toEqual([expect.stringMatching(/^no-slices i /)]);
  });

  test('a Service that is too large to decide, with the nodes', () => {
    const ports = Array.from({ length: 25_000 }, (_, port) => ({ name: `p${port}`, port }));
    expect(findings({ ...selector, ports }, [{}])).toEqual([
      expect.stringMatching(/^service-too-large ! .*so all endpoints are shown \(2\): a1, a2$/),
    ]);
  });

  test('slices of an address family that the Service lacks', () => {
    const spec = { ...selector, ipFamilies: ['IPv4'] };
    expect(findings(spec, [{ family: 'IPv6' }])).toEqual([
      expect.stringMatching(/^other-family ! .*no endpoint has an address family/),
    ]);
  });
});
