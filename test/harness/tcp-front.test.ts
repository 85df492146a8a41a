import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { DROP_OLD, startUrlFront } from '../../harness/network/tcp-front.ts';

// A front that had stopped reading was not notified of the reset, and called a connection open that the wrapper had
// closed.
test.each<[what: string, found: number, act: (client: Socket) => void]>([
  ['resets while the front does not read is not open', 0, (client) => client.resetAndDestroy()],
  ['keeps is open', 1, () => {}],
])('a dead connection that the client %s', async (_what, found, act) => {
  const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const front = await startUrlFront(`http://127.0.0.1:${port}`);
  const client = connect(front.port, '127.0.0.1').on('error', () => {});
  await once(client, 'connect');
  await front.begin({ kind: 'hold', directions: ['toServer'] });
  while (client.write(Buffer.alloc(65_536))) await sleep(5);
  const dropped = await front.begin(DROP_OLD);
  act(client);
  try {
    expect(await dropped.stillOpen(500)).toHaveLength(found);
  } finally {
    client.destroy();
    await front.stop();
    server.close();
  }
});
