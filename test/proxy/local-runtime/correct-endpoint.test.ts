import { describe, expect, test } from '@jest/globals';
import type {
  EndpointCorrection,
  PodEndpoint,
} from '../../../src/filter/codec/facts/pod-endpoint.ts';
import { correctEndpoint } from '../../../src/proxy/local-runtime/correct-endpoint.ts';
import { type LocalPod, LocalPods } from '../../../src/proxy/local-runtime/local-pods.ts';

/* What local-runtime.property does not vary (families, terminating and published endpoints), or meets too rarely. */

/** A Pod whose sandbox is ready. */
function pod(addresses: readonly string[]): LocalPod {
  return { uid: 'u', isStatic: false, network: { isHostNetwork: false, addresses } };
}

const GONE: LocalPod = { uid: 'u', isStatic: false, network: undefined };

function endpoint(rest: Partial<PodEndpoint> = {}): PodEndpoint {
  return {
    index: 0,
    pod: { namespace: 'default', name: 'web', uid: 'u' },
    address: '10.1.0.2',
    family: 'IPv4',
    state: 'ready',
    publishedNotReady: false,
    ...rest,
  };
}

const READY = pod(['10.1.0.3', 'fd00::3']);

describe('correctEndpoint()', () => {
  test.each<[string, PodEndpoint, LocalPod | undefined, EndpointCorrection | undefined]>([
    [
      'the address of the family of the slice',
      endpoint({ family: 'IPv6', address: 'fd00::2' }),
      READY,
      { address: 'fd00::3', notReady: false },
    ],
    [
      'no address of that family any more: not ready',
      endpoint({ family: 'IPv6', address: 'fd00::2' }),
      pod(['10.1.0.3']),
      { address: undefined, notReady: true },
    ],
    ['no sandbox is ready', endpoint(), GONE, { address: undefined, notReady: true }],
    [
      'the API server last had it as not ready: stays so, with its address',
      endpoint({ state: 'notReady' }),
      READY,
      { address: '10.1.0.3', notReady: false },
    ],
    [
      'terminating and gone: no longer serves',
      endpoint({ state: 'serving' }),
      GONE,
      { address: undefined, notReady: true },
    ],
    [
      'terminating and running: stays',
      endpoint({ state: 'serving', address: '10.1.0.3' }),
      READY,
      undefined,
    ],
    [
      'publishNotReadyAddresses: only the address',
      endpoint({ publishedNotReady: true }),
      READY,
      { address: '10.1.0.3', notReady: false },
    ],
    [
      'publishNotReadyAddresses, gone: stays',
      endpoint({ publishedNotReady: true }),
      GONE,
      undefined,
    ],
    [
      'a slice of names: stays',
      endpoint({ family: 'FQDN', address: 'web.example' }),
      GONE,
      undefined,
    ],
  ])('%s', (_, given, local, expected) => {
    const pods = new LocalPods(new Map([['default/web', local === undefined ? [] : [local]]]));
    expect(correctEndpoint(given, pods)).toEqual(expected);
  });

  test('nothing is said of a Pod that was not looked up', () => {
    expect(correctEndpoint(endpoint(), new LocalPods(new Map()))).toBeUndefined();
  });

  test('an endpoint whose address belongs to another Pod now is cut, if its own Pod has none', () => {
    const db = { ...pod(['10.1.0.2']), uid: 'v' };
    const others = (web: readonly LocalPod[]) =>
      new LocalPods(new Map(Object.entries({ 'default/web': web, 'default/db': [db] })));
    expect(correctEndpoint(endpoint(), others([GONE]))).toBe('cut');
    expect(correctEndpoint(endpoint({ state: 'notReady' }), others([]))).toBe('cut');
    expect(correctEndpoint(endpoint(), others([READY]))).not.toBe('cut');
  });
});
