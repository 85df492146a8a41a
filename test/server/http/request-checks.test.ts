import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { assertLocalRequest } from '../../../src/server/http/request-checks.ts';

/** Whether a request with this Host is answered on a connection to this address. */
function answers(host: string, localAddress: string | undefined): boolean {
  const request = { headers: { host }, socket: { localAddress } };
  try {
    assertLocalRequest(request as unknown as IncomingMessage);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'Forbidden' });
    return false;
  }
}

// The admin port may listen on all addresses of the node; kubelet and Prometheus then use the address of the node.
test.each([
  ['192.0.2.7:10361', '192.0.2.7', true],
  ['192.0.2.7', '::ffff:192.0.2.7', true],
  ['[2001:db8::7]:10361', '2001:db8::7', true],
  ['127.0.0.1:10361', '192.0.2.7', true],
  ['192.0.2.8:10361', '192.0.2.7', false],
  ['192.0.2.8:10361', '::ffff:192.0.2.7', false],
  ['[2001:db8::8]', '2001:db8::7', false],
  ['0.0.0.0:10361', '192.0.2.7', false],
  ['0.0.0.0', '127.0.0.1', false],
  ['[::]', '::1', false],
  ['node-1:10361', '192.0.2.7', false],
  ['192.0.2.7', undefined, false],
  ['', undefined, false],
])('the Host %j on a connection to %s is answered: %s', (host, localAddress, isAnswered) => {
  expect(answers(host, localAddress)).toBe(isAnswered);
});
