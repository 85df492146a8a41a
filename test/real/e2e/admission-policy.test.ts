import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { KubeObject } from '../../../harness/api-server/api.ts';
import { type ControlPlane, startControlPlane } from '../../../harness/api-server/control-plane.ts';
import { poll } from '../../../harness/poll.ts';
import { policyFor } from '../../../src/topology/policy/service-policy.ts';
import { stoppedLater } from '../../support/closed-later.ts';
import { NO_POLICY } from '../../support/topology/plain-topology.ts';
import { describeService } from '../../support/topology/service-description.ts';

jest.setTimeout(600_000);

/*
 * manifests/components/admission-policy on a real API server. The policy has its own grammar of the annotations, in
 * CEL. It must accept what the wrapper accepts, and reject what the wrapper reports.
 */

const MANIFEST = 'manifests/components/admission-policy/policy.yaml';
const KEYS = 'kube-proxy-wrapper.io/topology-keys';
const SERVICES = '/api/v1/namespaces/default/services';
const OWN = 'kube-proxy-wrapper.io/';
const long = (size: number) => 'a'.repeat(size);

type Annotations = Readonly<Record<string, string>>;

let plane: ControlPlane;

beforeAll(async () => {
  plane = stoppedLater(await startControlPlane());
  await plane.kubectl(['apply', '-f', MANIFEST]);
  // The API server compiles the policy a moment later.
  await poll(
    async () => await rejection({ topologyKeys: '[' }),
    (message) => message !== undefined,
  );
}, 600_000);

function service(name: string, annotations: Annotations): KubeObject {
  const metadata = { name, annotations };
  return { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 80 }] } };
}

/** The message with which the API server rejects a Service; undefined: it accepts the Service. */
async function rejection(annotations: Annotations): Promise<string | undefined> {
  try {
    await plane.admin.create(`${SERVICES}?dryRun=All`, service('probe', annotations));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Whether the wrapper has something to report about a Service. */
function isReported(annotations: Annotations): boolean {
  const policy = policyFor(describeService({ annotations }), NO_POLICY);
  const isInvalid = !policy.managed && policy.reason === 'invalid-policy';
  return isInvalid || policy.ignored !== undefined;
}

const KEYED = (value: string): Annotations => ({ topologyKeys: value });

test.each<Annotations>([
  {},
  { 'example.com/other': 'x' },
  ...[
    '[]',
    ' [ ] ',
    '["*"]',
    '["site"]',
    '["site", "*"]',
    '[\n"kubernetes.io/hostname" ,"a.b/c_d.e"]',
  ].map(KEYED),
  ...['fab-proxy', ' prefer-same-node\n', 'same-zone-only'].map(KEYED),
  KEYED(`["${OWN}community","${OWN}cloud"]`),
  KEYED(JSON.stringify(Array.from({ length: 16 }, (_, index) => `k${index}`))),
  KEYED(JSON.stringify([`${long(253)}/${long(63)}`])),
  { [KEYS]: '["site"]' },
  { [KEYS]: '["site"]', topologyKeys: ' ["site"]' },
  ...['on', 'off', ' dry-run\n'].map((filter) => ({ [`${OWN}filter`]: filter })),
  ...['{}', '{"site":2}', ' { "site" : 1 , "*" : 20 } '].map((counts) => ({
    topologyKeys: '["site","*"]',
    [`${OWN}min-ready`]: counts,
  })),
])('%j is accepted by the wrapper and the API server', async (annotations) => {
  expect(isReported(annotations)).toBe(false);
  expect(await rejection(annotations)).toBeUndefined();
});

test.each<[Annotations, RegExp]>([
  ...[
    '',
    '[',
    'site',
    'Fab-proxy',
    '["site"',
    '"site"',
    '[1]',
    '[["a"]]',
    '["a",]',
    '["*","a"]',
    '["a b"]',
    '["-a"]',
    '["a/b/c"]',
    '["/a"]',
    '["a/"]',
    '{"a":"b"}',
    '[""]',
  ].map((value): [Annotations, RegExp] => [KEYED(value), /must be a JSON array/]),
  [KEYED(JSON.stringify(Array.from({ length: 17 }, (_, index) => `k${index}`))), /more than 16/],
  [KEYED('["a","b","a"]'), /twice/],
  [KEYED(`["${long(64)}"]`), /not a label key/],
  [KEYED(`["a/${long(64)}"]`), /not a label key/],
  [KEYED(`["${long(254)}/a"]`), /not a label key/],
  [KEYED('["a..b/c"]'), /not a label key/],
  [KEYED(`["${OWN}region"]`), /community and cloud/],
  [{ [KEYS]: 'nonsense' }, /must be a JSON array/],
  [{ [KEYS]: '["a"]', topologyKeys: '["b"]' }, /differ/],
  ...['', 'Off', 'dryrun', 'true'].map((filter): [Annotations, RegExp] => [
    { [`${OWN}filter`]: filter },
    /must be off, dry-run or on/,
  ]),
  [{ topologyKeys: '["*"]', [`${OWN}return-delay`]: '30s' }, /was removed; use successThreshold/],
  ...['', '[]', '{"a":0}', '{"a":"2"}', '{"a":1.5}', '{"a":-1}', '{a:1}', '{"a":1,}'].map(
    (counts): [Annotations, RegExp] => [
      { topologyKeys: '["*"]', [`${OWN}min-ready`]: counts },
      /whole numbers from 1/,
    ],
  ),
  ...['topologykeys', 'topology-keys', 'TopologyKeys', 'topology_key'].map(
    (name): [Annotations, RegExp] => [{ [name]: '["*"]' }, /misspelt/],
  ),
  [{ [`${OWN}topologyKeys`]: '["*"]' }, /there are kube-proxy-wrapper.io\/topology-keys, /],
])('%j is reported by the wrapper and rejected by the API server', async (annotations, message) => {
  expect(isReported(annotations)).toBe(true);
  expect(await rejection(annotations)).toMatch(message);
});

describe('an object that was invalid before the policy', () => {
  test('can be changed elsewhere and corrected, not changed to another invalid value', async () => {
    const path = `${SERVICES}/web`;
    const annotate = async (value: string | null) =>
      await plane.admin.patch(path, { metadata: { annotations: { topologyKeys: value } } });
    const binding = ['validatingadmissionpolicybinding', 'kube-proxy-wrapper-policies'];
    await plane.kubectl(['delete', ...binding]);
    await poll(
      async () => await rejection(KEYED('[')),
      (message) => message === undefined,
    );
    await plane.admin.create(SERVICES, service('web', KEYED('[')));
    await plane.kubectl(['apply', '-f', MANIFEST]);
    await poll(
      async () => await rejection(KEYED('[')),
      (message) => message !== undefined,
    );
    await plane.admin.patch(path, { metadata: { labels: { changed: 'yes' } } });
    await expect(annotate('[[')).rejects.toThrow(/must be a JSON array/);
    await annotate('["site"]');
    await annotate(null);
  });

  test('a Namespace is checked too', async () => {
    const annotate = async (value: string) =>
      await plane.admin.patch('/api/v1/namespaces/default', {
        metadata: { annotations: { [KEYS]: value } },
      });
    await expect(annotate('site')).rejects.toThrow(/must be a JSON array/);
    await annotate('["site"]');
  });
});
