import { expect, test } from '@jest/globals';
import type { Query } from '../../../src/client/api/query.ts';
import { RequestError } from '../../../src/client/api/request-error.ts';
import { assertReached, type CheckedState } from '../../../src/client/reflector/version-check.ts';
import { WrapperError } from '../../../src/errors.ts';
import { ENDPOINT_SLICES, NODES } from '../../../src/filter/objects/resource.ts';

const SLICES: Query = {
  resource: ENDPOINT_SLICES,
  namespace: '',
  encoding: 'json',
  labelSelector: '!headless',
  fieldSelector: '',
};

function object(name: string, version: number, namespace = 'default'): Buffer {
  const metadata = { namespace, name, uid: name, resourceVersion: String(version) };
  return Buffer.from(JSON.stringify({ metadata }));
}

/** Checks version 20 of an API server that has these objects; returns the field selectors that were listed. */
async function check(
  has: Readonly<Record<string, number>>,
  known: readonly (readonly [name: string, version: number])[],
  query = SLICES,
  state: CheckedState = 'cached',
): Promise<string[]> {
  const listed: string[] = [];
  const objects = new Map(
    known.map(([key, version]) => [key, { resourceVersion: String(version) }] as const),
  );
  const list = async ({ fieldSelector, resource }: Query) => {
    listed.push(fieldSelector);
    const name = /metadata\.name=([^,]*)/.exec(fieldSelector)?.[1] ?? '';
    const version = has[name];
    const namespace = resource === NODES ? '' : 'default';
    const items = version === undefined ? [] : [object(name, version, namespace)];
    return { resourceVersion: '25', items, selfLink: '' };
  };
  await assertReached(query, { version: '20', objects }, state, list);
  return listed;
}

const NAMED = 'metadata.name=a,metadata.namespace=default';

test('the known object that changed last shows the history', async () => {
  expect(await check({ a: 19 }, [['default/a', 19]])).toEqual([NAMED]);
  expect(await check({ a: 23 }, [['default/a', 19]])).toEqual([NAMED]);
  await expect(check({ a: 18 }, [['default/a', 19]])).rejects.toMatchObject({
    message: 'the API server has default/a at 18, which was at 19 before',
    status: { code: 504, causes: [{ reason: 'ResourceVersionTooLarge' }] },
  });
});

test('a newest state that is older is another history', async () => {
  expect(await check({ a: 23 }, [['default/a', 19]], SLICES, 'newest')).toEqual([NAMED]);
  const older = check({ a: 18 }, [['default/a', 19]], SLICES, 'newest');
  await expect(older).rejects.toMatchObject({ end: 'wentBack' });
});

// Without a namespace, etcd would be read for all of them.
test.each([
  ['a namespaced collection', SLICES, ',metadata.namespace=default'],
  ['one Namespace', { ...SLICES, namespace: 'shop' }, ''],
  ['a cluster-scoped collection', { ...SLICES, resource: NODES }, ''],
])('without a known object, one name of %s is listed', async (_which, query, namespace) => {
  const name = 'metadata.name=nobody.kube-proxy-wrapper.io';
  expect(await check({}, [], query, 'newest')).toEqual([name + namespace]);
});

test('an object that was deleted shows nothing: the next one is listed, and at last all', async () => {
  const known = [
    ['default/gone', 19],
    ['default/a', 18],
  ] as const;
  expect(await check({ a: 18 }, known)).toHaveLength(2);
  await expect(check({ a: 17 }, known)).rejects.toMatchObject({ status: { code: 504 } });
  await expect(check({}, known)).rejects.toMatchObject({
    message: 'default/gone,default/a do not exist any more',
    status: { code: 410 },
  });
});

test.each([
  ['of one namespace', { namespace: 'default' }, 'default/a', 'metadata.name=a'],
  ['of cluster-scoped objects', { resource: NODES }, 'a', 'metadata.name=a'],
  ['with a field selector', { fieldSelector: 'x=y' }, 'default/a', `x=y,${NAMED}`],
  ['that names an object', { fieldSelector: 'metadata.name=a' }, 'default/a', 'metadata.name=a'],
])('a query %s is sent with one name', async (_which, more, key, selector) => {
  expect(await check({ a: 19 }, [[key, 19]], { ...SLICES, ...more })).toEqual([selector]);
});

/** The check of a query without known objects that is refused so. */
function refused(refusal: WrapperError, state: CheckedState = 'cached'): Promise<void> {
  const known = { version: '20', objects: new Map() };
  return assertReached(SLICES, known, state, () => Promise.reject(refusal));
}

const refusalOf = (code: number) =>
  new WrapperError('Refused', 'refused', { status: { code, reason: '', message: '' } });

// After a temporary error the watch is tried again; after any other only a list helps.
test.each([
  [401, 401],
  [429, 429],
  [500, 500],
  [503, 503],
  [403, 410],
  [404, 410],
  [410, 410],
])('a check that is refused with %d fails with %d', async (answered, code) => {
  await expect(refused(refusalOf(answered))).rejects.toMatchObject({ status: { code } });
});

test('a collection without a selector by name needs no check', async () => {
  await expect(refused(refusalOf(400))).resolves.toBe(undefined);
});

// A relay has no newest state, and refuses other clients' queries as an API server does.
test('a newest state that is refused with 400 shows nothing', async () => {
  await expect(refused(refusalOf(400), 'newest')).rejects.toMatchObject({ status: { code: 410 } });
});

test('a relay that does not serve the check with 400 has not reached the version', async () => {
  const refusal = new RequestError('relayRefused', 'refused', refusalOf(400));
  await expect(refused(refusal)).rejects.toBe(refusal);
});
