import { describe, expect, test } from '@jest/globals';
import type { EndpointCorrection, PodEndpoint } from '../../../src/filter/objects/pod-endpoint.ts';
import { correctEndpoint } from '../../../src/node/local-runtime/correct-endpoint.ts';
import { type LocalPod, LocalPods } from '../../../src/node/local-runtime/local-pods.ts';

/* What local-runtime.property does not vary (families, terminating and published endpoints), or meets too rarely. */

const WEB = 'default/web';
const GONE: LocalPod = { name: WEB, uid: 'u', isStatic: false, network: undefined };

/** A Pod whose sandbox is ready. */
function pod(addresses: readonly string[]): LocalPod {
  return { ...GONE, network: { isHostNetwork: false, addresses } };
}

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
  test.each<[string, PodEndpoint, LocalPod, EndpointCorrection | undefined]>([
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
    expect(correctEndpoint(given, new LocalPods([local]))).toEqual(expected);
    // Nothing is said of a Pod that was not looked up.
    expect(correctEndpoint(given, new LocalPods([], new Set([WEB])))).toBeUndefined();
  });

  test('an endpoint whose address belongs to another Pod now is cut, if its own Pod has none', () => {
    const db = { ...pod(['10.1.0.2']), name: 'default/db', uid: 'v' };
    const beside = (...web: LocalPod[]) => new LocalPods([...web, db]);
    expect(correctEndpoint(endpoint(), beside(GONE))).toBe('cut');
    expect(correctEndpoint(endpoint({ state: 'notReady' }), beside())).toBe('cut');
    expect(correctEndpoint(endpoint(), beside(READY))).not.toBe('cut');
  });
});
