import { describe, expect, test } from '@jest/globals';
import { policyFor, type ServiceDescription } from '../../src/topology/service-policy.ts';
import { NO_POLICY as none } from '../support/topology.ts';

const service: ServiceDescription = {
  namespace: 'default',
  name: 'web',
  labels: new Map(),
  annotations: new Map(),
  headless: false,
  localTraffic: false,
};
const defaults = { ...none, defaults: { keys: ['kubernetes.io/hostname', '*'] } };

/** Annotations with these topology keys. */
function keys(value: string): ReadonlyMap<string, string> {
  return new Map([['topologyKeys', value]]);
}

describe('policyFor()', () => {
  test.each([
    ['without annotation and default it is left alone', {}, none, 'no-policy'],
    ['headless it is left alone', { annotations: keys('["*"]'), headless: true }, none, 'headless'],
    [
      'with a local traffic policy it is left alone',
      { annotations: keys('["*"]'), localTraffic: true },
      none,
      'local-traffic-policy',
    ],
    [
      'default/kubernetes is left alone by a default',
      { name: 'kubernetes' },
      defaults,
      'kubernetes-service',
    ],
    ['an empty list overrides a default', { annotations: keys('[]') }, defaults, 'no-policy'],
    [
      'an invalid annotation leaves it alone',
      { annotations: keys('[') },
      defaults,
      'invalid-policy',
    ],
  ])('%s', (_name, change, settings, reason) => {
    expect(policyFor({ ...service, ...change }, settings)).toMatchObject({
      managed: false,
      reason,
    });
  });

  test('the annotation wins over the default', () => {
    expect(policyFor({ ...service, annotations: keys('["site"]') }, defaults)).toEqual({
      managed: true,
      keys: ['site'],
      source: 'annotation',
    });
    expect(policyFor(service, defaults)).toEqual({
      managed: true,
      keys: defaults.defaults.keys,
      source: 'default',
    });
  });

  test('default/kubernetes follows its own annotation', () => {
    const annotated = { ...service, name: 'kubernetes', annotations: keys('["site"]') };
    expect(policyFor(annotated, none)).toMatchObject({ managed: true, keys: ['site'] });
  });

  test('headless Services follow a policy when asked for', () => {
    const headless = { ...service, headless: true, annotations: keys('["site"]') };
    expect(policyFor(headless, { ...none, headless: true })).toMatchObject({ managed: true });
  });
});
