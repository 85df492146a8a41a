import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * Picks TCP ports that are free on every address right now. All are held until the last is
 * picked, so that they differ from each other.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  for (const server of servers) {
    server.listen(0);
    await once(server, 'listening');
  }
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
