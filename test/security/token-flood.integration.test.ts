import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import { DEFAULT_LISTENER_LIMITS } from '../../src/proxy/http/listener-limits.ts';
import { eventually } from '../support/eventually.ts';
import { type RawConnection, raw } from '../support/http/http-client.ts';
import { type HttpsWrapper, useHttps } from '../support/wrapper/https-wrapper.ts';

const VIEW = '/api/v1/services';
const MAX_REVIEWS = 4;
const MAX_CONNECTIONS = 40;

let wrapper: HttpsWrapper;

beforeEach(async () => {
  const listenerLimits = { ...DEFAULT_LISTENER_LIMITS, maxConnections: MAX_CONNECTIONS };
  wrapper = await useHttps({ maxReviews: MAX_REVIEWS }, { listenerLimits });
});

/** Sends a request with an invented token on each of so many connections. */
function flood(connections: number): RawConnection[] {
  const { proxy, ca } = wrapper;
  return Array.from({ length: connections }, (_, n) => {
    const head = `GET ${VIEW} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer invented/${n}\r\n\r\n`;
    return raw(proxy.httpsUrl ?? '', head, { ca });
  });
}

const ask = async (token: string) => (await wrapper.ask(VIEW, { token })).code;
const isPending = ({ socket, received }: RawConnection) => !socket.destroyed && received() === '';

test('invented tokens on 20 connections do not keep out a valid one that is not known yet', async () => {
  const { api } = wrapper;
  const review = Promise.withResolvers<401>();
  const isInvented = () => api.identities.at(-1)?.includes('invented') === true;
  api.refuseIdentity = () => (isInvented() ? review.promise : undefined);
  flood(20);
  await eventually(() => api.identities.length, MAX_REVIEWS);
  const answer = ask('valid');
  // It waits for its turn, or has been refused.
  await Promise.race([answer, delay(500)]);
  review.resolve(401);
  expect(await answer).toBe(200);
});

test('invented tokens on more than maxConnections connections do not keep out a known caller', async () => {
  expect(await ask('known')).toBe(200);
  wrapper.api.refuseIdentity = () => new Promise(() => {});
  const connections = flood(MAX_CONNECTIONS + 10);
  // Half of maxConnections may wait. The others get 429.
  await eventually(() => connections.filter(isPending).length, MAX_REVIEWS + MAX_CONNECTIONS / 2);
  expect(await ask('known')).toBe(200);
});
