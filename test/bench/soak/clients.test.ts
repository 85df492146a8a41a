import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { CLIENT_NAMES, runClients } from '../../../bench/soak/clients.ts';
import { eventually } from '../../support/eventually.ts';

/** Answers all clients with a status code and an endless body. */
async function answering(code: number, check: (parts: ReadonlySet<string>) => Promise<void>) {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked++;
    response.writeHead(code).write('x');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const end = new AbortController();
  const parts = new Set<string>();
  const clients = runClients(`http://127.0.0.1:${port}`, end.signal, (name) => parts.add(name));
  try {
    await eventually(() => asked > 30, true);
    await check(parts);
  } finally {
    end.abort();
    await clients;
    await new Promise((resolve) => server.close(resolve));
  }
}

test('the parts of responses are reported for each kind of client, and all stop at the signal', async () => {
  await answering(200, async (parts) => {
    await eventually(() => [...parts].sort(), [...CLIENT_NAMES].sort());
  });
});

test('responses other than 200 are not reported', async () => {
  await answering(503, async (parts) => {
    await delay(100);
    expect(parts.size).toBe(0);
  });
});
