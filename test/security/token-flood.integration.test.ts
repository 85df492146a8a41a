import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import { DEFAULT_LISTENER_LIMITS } from '../../src/server/http/listener-limits.ts';
import { eventually } from '../support/eventually.ts';
import { type RawConnection, raw } from '../support/http/http-client.ts';
import { useReviewedRelay } from '../support/relay/relay-fixture.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';

const VIEW = '/api/v1/services?resourceVersion=0';
const MAX_REVIEWS = 4;
const MAX_CONNECTIONS = 40;

let wrapper: HttpsWrapper;

beforeEach(async () => {
  const listenerLimits = { ...DEFAULT_LISTENER_LIMITS, maxConnections: MAX_CONNECTIONS };
  wrapper = await useHttps({ maxReviews: MAX_REVIEWS }, { listenerLimits });
});

/** Sends a request with an invented token on each of so many connections. */
function flood(connections: number, url: string, ca: string): RawConnection[] {
  return Array.from({ length: connections }, (_, n) => {
    const head = `GET ${VIEW} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer invented/${n}\r\n\r\n`;
    return raw(url, head, { ca });
  });
}

const isPending = ({ socket, received }: RawConnection) => !socket.destroyed && received() === '';

test.each([
  ['https', MAX_REVIEWS],
  ['a relay', 64],
])(
  '%s: invented tokens on more connections than %i, the reviews at a time, do not keep out a valid one that is not known yet',
  async (listener, reviews) => {
    const { api, ask, ca, url } =
      listener === 'https'
        ? { ...wrapper, url: wrapper.proxy.httpsUrl ?? '' }
        : await useReviewedRelay();
    const review = Promise.withResolvers<401>();
    const isInvented = () => api.identities.at(-1)?.includes('invented') === true;
    api.refuseIdentity = () => (isInvented() ? review.promise : undefined);
    flood(reviews + 16, url, ca);
    await eventually(() => api.identities.length, reviews);
    const answer = ask(VIEW, { token: 'valid' });
    // It waits for its turn, or has been refused.
    await Promise.race([answer, delay(500)]);
    review.resolve(401);
    expect((await answer).code).toBe(200);
  },
);

test('invented tokens on more than maxConnections connections do not keep out a known caller', async () => {
  const { api, ask, proxy, ca } = wrapper;
  const known = async () => (await ask(VIEW, { token: 'known' })).code;
  expect(await known()).toBe(200);
  api.refuseIdentity = () => new Promise(() => {});
  const connections = flood(MAX_CONNECTIONS + 10, proxy.httpsUrl ?? '', ca);
  // Half of maxConnections may wait. The others get 429.
  await eventually(() => connections.filter(isPending).length, MAX_REVIEWS + MAX_CONNECTIONS / 2);
  expect(await known()).toBe(200);
});
