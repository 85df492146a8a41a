import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseListOptions } from '../../src/client/api/list-options.ts';
import { parseRequestInfo } from '../../src/client/api/request-info.ts';
import { WrapperError } from '../../src/errors.ts';
import { RESOURCES } from '../../src/filter/objects/resource.ts';
import { budget, FUZZ_TIMEOUT_MS } from './budget.ts';

const words = fc.constantFrom(
  'api',
  'apis',
  'v1',
  'v1beta1',
  'namespaces',
  'default',
  'watch',
  'proxy',
  'log',
  'status',
  'discovery.k8s.io',
  'networking.k8s.io',
  'events.k8s.io',
  'events',
  'secrets',
  'pods',
  ...RESOURCES.flatMap(({ plural, group }) => [plural, group]),
  '',
  '.',
  '..',
  '%2e%2e',
  '%2F',
  '%00',
  '%',
  '%zz',
  ';',
  '\\',
  '//',
  ' ',
  '…',
);
const segment = fc.oneof({ weight: 4, arbitrary: words }, fc.string({ maxLength: 8 }));
/** Paths that are served or forwarded, most of them with one or two other segments. */
const nearPaths = fc
  .record({
    resource: fc.constantFrom(...RESOURCES),
    namespace: fc.option(fc.constantFrom('default', 'kube-system', 'caf%C3%A9')),
    name: fc.option(fc.constantFrom('web', 'edge-1', 'a%20b')),
    others: fc.array(fc.tuple(fc.nat(6), segment), { maxLength: 2 }),
  })
  .map(({ resource: { group, version, plural }, namespace, name, others }) => {
    const root = group === '' ? ['api', version] : ['apis', group, version];
    const within = namespace === null ? [] : ['namespaces', namespace];
    const segments = [...root, ...within, plural, ...(name === null ? [] : [name])];
    for (const [at, other] of others) segments[at % segments.length] = other;
    return `/${segments.join('/')}`;
  });
const paths = fc.oneof(
  nearPaths,
  fc.array(segment, { maxLength: 9 }).map((segments) => `/${segments.join('/')}`),
  fc.string({ unit: 'binary', maxLength: 60 }),
);

/** The result; undefined if the action throws a WrapperError. */
function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (error instanceof WrapperError) return undefined;
    throw error;
  }
}

describe('parseRequestInfo()', () => {
  test(
    'reads any path, and its result has this path as its canonical path',
    () => {
      const found = { collection: 0, object: 0 };
      const property = fc.property(paths, (path) => {
        const info = attempt(() => parseRequestInfo(path));
        if (info === undefined || info.kind === 'other') return;
        expect(pathsOf(info)).toContain(decodeURIComponent(path));
        found[info.kind]++;
      });
      fc.assert(property, budget);
      // Otherwise the property would be true only because no path was recognised.
      for (const count of Object.values(found)) expect(count).toBeGreaterThan(0);
    },
    FUZZ_TIMEOUT_MS,
  );
});

/** The canonical path of a request. */
function pathsOf(info: Exclude<ReturnType<typeof parseRequestInfo>, { kind: 'other' }>): string[] {
  const name = info.kind === 'collection' ? '' : `/${info.name}`;
  const within = info.namespace === '' ? '' : `/namespaces/${info.namespace}`;
  const { group, version, plural } = info.resource;
  const root = group === '' ? '/api' : `/apis/${group}`;
  return [`${root}/${version}${within}/${plural}${name}`];
}

const names = [
  'watch',
  'labelSelector',
  'fieldSelector',
  'resourceVersion',
  'resourceVersionMatch',
  'continue',
  'sendInitialEvents',
  'allowWatchBookmarks',
  'timeoutSeconds',
  'limit',
  'pretty',
];
const values = fc.oneof(
  fc.constantFrom('', '0', '1', 'true', 'false', 'T', 'NotOlderThan', 'Exact', '-1', '1e9'),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.bigInt({ min: 0n, max: 10n ** 40n }).map(String),
);
const queries = fc.array(
  fc.tuple(fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 6 })), values),
  { maxLength: 6 },
);

describe('parseListOptions()', () => {
  test(
    'reads every parameter of a query unchanged, or refuses the query',
    () => {
      const property = fc.property(queries, (query) => {
        const options = attempt(() => parseListOptions(new URLSearchParams(query)));
        if (options === undefined) return;
        const given = new Map(query);
        // A parameter that occurs twice is refused, except one that is ignored; there the last one counts.
        expect(options.labelSelector).toBe(given.get('labelSelector') ?? '');
        expect(options.fieldSelector).toBe(given.get('fieldSelector') ?? '');
        expect(options.continue).toBe(given.get('continue') ?? '');
        const version = given.get('resourceVersion') ?? '';
        expect(options.version?.toString() ?? '').toBe(version === '0' ? '' : version);
        expect(options.watch).toBe(/^(|1|t|true)$/i.test(given.get('watch') ?? 'false'));
        const known = [...given.keys()].every((name) => names.includes(name) || name === 'timeout');
        expect(known).toBe(true);
      });
      fc.assert(property, budget);
    },
    FUZZ_TIMEOUT_MS,
  );
});
