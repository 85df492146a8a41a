import { describe, expect, test } from '@jest/globals';
import type { ClusterObjects } from '../../cli/simulate/cluster-objects.ts';
import { compare } from '../../cli/simulate/compare.ts';
import { findingsOf, newFindings } from '../../cli/simulate/findings.ts';
import { addressesOf, answerOn, formatMatrix, formatService } from '../../cli/simulate/matrix.ts';
import { readManifests } from '../../cli/simulate/read-manifests.ts';
import { type Simulation, simulate } from '../../cli/simulate/simulation.ts';
import { nodeProxyOptions } from '../../src/config/node-proxy-options.ts';
import { loadSettings, type RawSettings } from '../../src/config/settings.ts';
import type { EndpointGroup } from '../../src/topology/decide/endpoint.ts';

const EXAMPLE = new URL('../../demo/cluster.yaml', import.meta.url).pathname;

function settings(raw: RawSettings = {}) {
  return nodeProxyOptions(loadSettings({ nodeName: 'any', ...raw }, {}, undefined));
}

/**
 * Changes labels of Nodes and annotations of Services in the namespace default: `node/edge-1:site=b`,
 * `service/web:topologyKeys=["site"]`; `node/edge-1:site-` removes.
 */
function withChanges(cluster: ClusterObjects, changes: readonly string[]): ClusterObjects {
  const changed = structuredClone(cluster);
  for (const change of changes) {
    const [, kind, object, key = '', value] =
      /^(node|service)\/([^:=]+):([^:=\s]+?)(?:=(.*)|-)$/s.exec(change) ?? [];
    const found =
      kind === 'node'
        ? changed.nodes.find(({ name }) => name === object)?.labels
        : changed.services.find(({ name }) => name === object)?.annotations;
    const values = found as Map<string, string>;
    if (value === undefined) values.delete(key);
    else values.set(key, value);
  }
  return changed;
}

function run(
  cluster: ClusterObjects,
  raw: RawSettings = {},
  changes: readonly string[] = [],
): Simulation {
  return simulate(withChanges(cluster, changes), settings(raw));
}

/** The sorted addresses that a node sees of a Service. */
function seen({ services, nodes }: Simulation, service: string, node: string): string[] {
  const row = services.find((each) => each.service === service);
  if (row === undefined) throw new Error(`no row ${service}`);
  return addressesOf(row, answerOn(row, nodes.indexOf(node))).sort();
}

const cluster = readManifests([EXAMPLE]);
const PLAIN = { wide: false, headers: true };

describe('simulate()', () => {
  test('a dry run is simulated like a normal run', () => {
    expect(seen(run(cluster, { dryRun: true }), 'default/web', 'edge-1')).toEqual(['10.244.1.10']);
  });

  // kube-proxy reads no slice with this label, and simulate showed its endpoints.
  test('slices with the headless label are not seen, unless the Service is headless itself', () => {
    const HEADLESS = 'service.kubernetes.io/headless';
    const slices = cluster.slices.map((each) => {
      return each.service === 'web' ? { ...each, labels: new Map([[HEADLESS, '']]) } : each;
    });
    expect(seen(run({ ...cluster, slices }), 'default/web', 'edge-1')).toEqual([]);
    const services = cluster.services.map((each) => {
      return each.name === 'web' ? { ...each, clusterIP: 'None' } : each;
    });
    const headless = run({ ...cluster, services, slices }, { headless: true });
    expect(seen(headless, 'default/web', 'edge-1')).toEqual(['10.244.1.10']);
  });

  test('a Service that became an ExternalName is not seen, though its slices remain', () => {
    const services = cluster.services.map((each) => {
      return each.name === 'web' ? { ...each, type: 'ExternalName' } : each;
    });
    const names = run({ ...cluster, services }).services.map(({ service }) => service);
    expect(names).not.toContain('default/web');
    expect(names).toContain('default/plain');
  });

  test('a withheld Service is withheld from edge nodes, not from cloud nodes', () => {
    const raw = { defaultTopologyKeys: 'fab-proxy', cloud: { mode: 'passthrough' } };
    const changes = [
      'service/plain:topologyKeys=["kubernetes.io/hostname","kube-proxy-wrapper.io/cloud"]',
    ];
    const simulation = run(cluster, raw, changes);
    const row = simulation.services.find(({ service }) => service === 'default/plain');
    const outcomes = simulation.nodes.map((_, node) => row && answerOn(row, node).kind);
    expect(outcomes).toEqual(['withheld', 'filtered', 'withheld', 'filtered', 'filtered']);
  });
});

describe('the annotation filter: dry-run', () => {
  // The data path shows all endpoints of such a Service, but simulate once reported nodes without an endpoint.
  const DRY = 'service/nearby-only:kube-proxy-wrapper.io/filter=dry-run';
  const dry = run(cluster, {}, [DRY]);
  const row = (simulation: Simulation) =>
    simulation.services.filter(({ service }) => service === 'default/nearby-only');

  test('is marked as a dry run', () => {
    const [only] = row(dry);
    if (only === undefined) throw new Error('no row');
    expect(formatMatrix({ ...dry, services: [only] }, PLAIN)).toContain('0/1 NONE (dry run)');
    expect(formatService(only, dry.nodes, PLAIN)).toContain(
      '1 endpoint (dry run: everything is shown; this is what the policy would show)\n',
    );
  });

  test('has no warnings, because no endpoint is lost', () => {
    const found = findingsOf(dry).filter(({ service }) => service === 'default/nearby-only');
    expect(found).toMatchObject([
      { code: 'no-endpoint', severity: 'info', message: 'dry run: no endpoint left on' },
    ]);
  });

  // It changed the exit code.
  test('its keys that no node has are not findings, until a Service without a dry run has them', () => {
    const rack = ['nearby-only', 'web'].map((name) => `service/${name}:topologyKeys=["rack"]`);
    const dryRun = [DRY, 'service/web:kube-proxy-wrapper.io/filter=dry-run'];
    expect(run(cluster, {}, [...rack, ...dryRun]).emptyKeys).toEqual([]);
    expect(run(cluster, {}, [...rack, DRY]).emptyKeys).toEqual(['rack']);
  });

  test('works on a Namespace too', () => {
    const namespaces = [
      {
        namespace: '',
        name: 'default',
        uid: '',
        resourceVersion: '',
        labels: new Map(),
        annotations: new Map([['kube-proxy-wrapper.io/filter', 'dry-run']]),
      },
    ];
    const simulation = run({ ...cluster, namespaces }, { namespacePolicies: true });
    expect(findingsOf(simulation).filter(({ severity }) => severity === 'warning')).toEqual([]);
  });

  test('without it, excluded endpoints are removed and a lost port is a warning', () => {
    const live = run(cluster);
    const differences = compare(dry, live);
    expect(differences).toContainEqual({
      service: 'default/nearby-only',
      nodes: ['edge-3', 'cloud-1', 'cloud-2'],
      before: '0/1 NONE (dry run)',
      after: '0/1 NONE',
      added: [],
      removed: ['10.244.1.30'],
    });
    const fresh = newFindings(findingsOf(dry), findingsOf(live));
    expect(fresh).toMatchObject([{ code: 'no-endpoint', severity: 'warning' }]);
  });
});

describe('findingsOf()', () => {
  describe('for a single lost port', () => {
    const [near] = cluster.slices.filter(({ service }) => service === 'nearby-only');
    if (near === undefined) throw new Error('no slice');
    const [group] = near.groups;
    const [endpoint] = group?.endpoints ?? [];
    if (endpoint === undefined) throw new Error('no endpoint');
    const ports = [...(group?.ports ?? []), 'TCP/metrics'];
    /** A slice on edge-3, which alone has this port or family. */
    const with3 = (far: EndpointGroup, changes: readonly string[] = []) => {
      const services = cluster.services.map((each) =>
        each.name === near.service ? { ...each, ports } : each,
      );
      const slices = [...cluster.slices, { ...near, groups: [far] }];
      return run({ ...cluster, services, slices }, {}, changes);
    };
    const lost = (simulation: Simulation) =>
      findingsOf(simulation)
        .filter(({ code }) => code === 'no-endpoint')
        .flatMap(({ subjects }) => subjects.map(({ text }) => text));

    // There was once no finding while the Service had any endpoint left.
    test('names the port next to the node', () => {
      const simulation = with3({ ports, endpoints: [{ ...endpoint, node: 'edge-3' }] });
      expect(lost(simulation)).toEqual([
        'edge-1 (IPv4 TCP/metrics)',
        'edge-2 (IPv4 TCP/metrics)',
        'cloud-1',
        'cloud-2',
      ]);
    });

    test('is another finding if no endpoint has the port, and others have one that the Service lacks', () => {
      const far = { ports: ['TCP/http'], endpoints: [{ ...endpoint, node: 'edge-3' }] };
      expect(findingsOf(with3(far))).not.toContainEqual(
        expect.objectContaining({ code: 'port-without-endpoints' }),
      );
      const other = { ...far, ports: ['TCP/other'] };
      expect(findingsOf(with3(other))).toContainEqual(
        expect.objectContaining({
          code: 'port-without-endpoints',
          severity: 'warning',
          subjects: [{ id: 'IPv4 TCP/metrics', text: 'IPv4 TCP/metrics' }],
        }),
      );
    });

    test('names the address family', () => {
      const far = { ...endpoint, node: 'edge-3', family: 'IPv6' };
      const simulation = with3({ ports: ['TCP/http'], endpoints: [far] });
      expect(lost(simulation)).toContain('edge-1 (IPv6 TCP/http)');
    });

    test('ignores a port without any usable endpoint; one that is only serving is usable', () => {
      const far = { ...endpoint, node: 'edge-3', state: 'notReady' as const };
      expect(lost(with3({ ports, endpoints: [far] }))).toEqual(['edge-3', 'cloud-1', 'cloud-2']);
      const serving = { ...far, state: 'serving' as const };
      const text = 'edge-1 (IPv4 TCP/metrics)';
      expect(lost(with3({ ports, endpoints: [serving] }))).toContain(text);
    });

    test('is not new if all ports were lost before', () => {
      const far = { ports, endpoints: [{ ...endpoint, node: 'edge-3' }] };
      const before = findingsOf(with3(far));
      const after = findingsOf(with3(far, ['node/cloud-1:site=a', 'node/edge-2:site-']));
      const fresh = newFindings(before, after);
      expect(fresh.flatMap(({ subjects }) => subjects.map(({ text }) => text))).toEqual(['edge-2']);
    });
  });

  test('names keys that no node has, and annotations that are invalid or ignored', () => {
    const changes = [
      'service/web:topologyKeys=["rack","*"]',
      'service/db:topologyKeys=site',
      'service/plain:topologykeys=["site"]',
    ];
    const codes = findingsOf(run(cluster, {}, changes)).map(({ code, message }) => [code, message]);
    expect(codes).toContainEqual(['key-without-nodes', expect.stringContaining('rack')]);
    expect(codes).toContainEqual(['invalid-policy', expect.stringContaining('not JSON')]);
    const ignored = 'the annotation "topologykeys" has no effect; did you mean topologyKeys?';
    expect(codes).toContainEqual(['annotation-ignored', ignored]);
  });
});

// The default was used, whatever --config said. And an answer of a node with room stood for one without.
test('a Service whose policy needs more node sets than maxNodeSets is a finding', () => {
  const regions = ['edge-1', 'edge-2'].map(
    (name) => `node/${name}:topology.kubernetes.io/region=r`,
  );
  const found = (changes: readonly string[], input = cluster) =>
    findingsOf(run(input, { maxNodeSets: 1 }, [...regions, ...changes])).filter(
      ({ code, service }) => code === 'node-set-limit' && service === 'default/db',
    );
  const message = 'a node set that the policy needs has no room, so all endpoints are shown on';
  const subjects = [{ id: 'edge-1' }, { id: 'edge-2' }];
  expect(found([])).toMatchObject([{ severity: 'warning', message, subjects }]);
  const dry = found(['service/db:kube-proxy-wrapper.io/filter=dry-run']);
  expect(dry).toMatchObject([{ severity: 'info' }]);
  const annotations = new Map([['kube-proxy-wrapper.io/filter', 'off']]);
  const nodes = cluster.nodes.map((node) =>
    node.name === 'edge-1' ? { ...node, annotations } : node,
  );
  expect(found([], { ...cluster, nodes })).toMatchObject([{ subjects: [{ id: 'edge-2' }] }]);
});

test('compare() groups nodes with the same change, and names the endpoints', () => {
  const differences = compare(run(cluster), run(cluster, {}, ['node/edge-3:site=a']));
  expect(differences.filter(({ service }) => service === 'default/web')).toEqual([
    {
      service: 'default/web',
      nodes: ['edge-3'],
      before: '3/3 *',
      after: '2/3 site',
      added: [],
      removed: ['10.244.101.10'],
    },
  ]);
  expect(compare(run(cluster), run(cluster))).toEqual([]);
});

test('compare() finds another address, even if the numbers are the same', () => {
  const slices = cluster.slices.map((each) => ({
    ...each,
    addresses: each.addresses.map((address) => address.replace(/^10\.244\.101\./, '10.244.201.')),
  }));
  const differences = compare(run(cluster), run({ ...cluster, slices }));
  expect(differences).toContainEqual(
    expect.objectContaining({
      service: 'default/web',
      before: '3/3 *',
      after: '3/3 *',
      added: ['10.244.201.10'],
      removed: ['10.244.101.10'],
    }),
  );
});

test('nodes that see the same share a column of the matrix', () => {
  const text = formatMatrix(
    run(cluster, {}, ['service/nearby-only:topologyKeys-', 'node/edge-3:site-']),
    PLAIN,
  );
  expect(text).toMatch(/^SERVICE +edge-1/);
  expect(text).toMatch(/default\/plain +2\/2 unfiltered/);
});
