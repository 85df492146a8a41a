import { beforeEach, describe, expect, test } from '@jest/globals';
import { PolicyResolver } from '../../../src/topology/policy/policy-resolver.ts';
import type { ServiceDescription } from '../../../src/topology/policy/service-policy.ts';
import { NO_POLICY } from '../../support/projection/topology.ts';

const HOST = 'kubernetes.io/hostname';
let book: PolicyResolver;

beforeEach(() => {
  book = new PolicyResolver({ ...NO_POLICY, defaults: { keys: ['*'] } });
});

function service(name: string, keys?: string, namespace = 'shop'): ServiceDescription {
  const annotations = new Map(keys === undefined ? [] : [['topologyKeys', keys]]);
  const base = { namespace, name, labels: new Map(), headless: false, localTraffic: false };
  return { ...base, annotations };
}

/** What a change of the Namespace changes, as `service: source keys`. */
function setNamespace(keys: string | undefined, namespace = 'shop'): string[] {
  return [...book.setNamespace(namespace, { keys })].map(([key, policy]) => {
    if (policy === undefined) return `${key}: gone`;
    return `${key}: ${policy.managed ? `${policy.source} ${policy.keys}` : policy.reason}`;
  });
}

describe('PolicyBook', () => {
  test('a Namespace’s annotation comes, changes, is invalid and goes; its Services follow', () => {
    book.setService(service('web'));
    book.setService(service('own', '["site"]'));
    book.setService(service('web', undefined, 'other'));
    expect(setNamespace('["site"]')).toEqual(['shop/web: namespace site']);
    expect(setNamespace('["site"]')).toEqual([]);
    expect(setNamespace('prefer-same-node')).toEqual([`shop/web: namespace ${HOST},*`]);
    expect(setNamespace('[')).toEqual(['shop/web: invalid-policy']);
    expect(setNamespace('[]')).toEqual(['shop/web: no-policy']);
    expect(setNamespace(undefined)).toEqual(['shop/web: default *']);
    expect(setNamespace(undefined)).toEqual([]);
  });

  test('a Service that comes after its Namespace takes its keys', () => {
    setNamespace('["site"]');
    expect(book.setService(service('web'))).toMatchObject({ source: 'namespace', keys: ['site'] });
    expect(book.setService(service('web', undefined, 'other'))).toMatchObject({
      source: 'default',
    });
  });

  test('a Service that speaks for itself no longer follows, and follows again when it does not', () => {
    book.setService(service('web'));
    book.setService(service('web', '["*"]'));
    expect(setNamespace('["site"]')).toEqual([]);
    expect(book.setService(service('web'))).toMatchObject({ keys: ['site'] });
    expect(setNamespace('["zone"]')).toEqual(['shop/web: namespace zone']);
  });

  test('a Service that is only kept on, or run dry, takes its keys from the Namespace and follows them', () => {
    for (const [name, filter] of Object.entries({ web: 'on', db: 'dry-run' })) {
      const annotations = new Map([['kube-proxy-wrapper.io/filter', filter]]);
      book.setService({ ...service(name), annotations });
    }
    expect(setNamespace('["site"]')).toEqual([
      'shop/web: namespace site',
      'shop/db: namespace site',
    ]);
    expect(setNamespace(undefined)).toEqual(['shop/web: default *', 'shop/db: default *']);
  });

  test('a Service that is gone does not follow', () => {
    book.setService(service('web'));
    book.setService(service('db'));
    book.deleteService('shop/web');
    expect(setNamespace('["site"]')).toEqual(['shop/db: namespace site']);
    book.deleteService('shop/db');
    book.deleteService('shop/db');
    expect(setNamespace('["zone"]')).toEqual([]);
  });

  test('default/kubernetes takes no keys of its Namespace, but is switched off with it', () => {
    book.setService(service('kubernetes', '["*"]', 'default'));
    expect(setNamespace('["site"]', 'default')).toEqual([]);
    const changed = [...book.setNamespace('default', { filter: 'off' })];
    expect(changed).toEqual([['default/kubernetes', { managed: false, reason: 'service-off' }]]);
    const later = book.setService(service('kubernetes', '["*"]', 'default'));
    expect(later).toEqual({ managed: false, reason: 'service-off' });
  });

  test('equal policies are kept once', () => {
    const one = book.setService(service('web', '["site"]'));
    expect(book.setService(service('db', '["site"]'))).toBe(one);
    expect(book.setService(service('db', '["zone"]'))).not.toBe(one);
  });
});
