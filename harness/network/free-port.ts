import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below node ports, and below what the kernel gives to outgoing connections (ip_local_port_range). */
const [FIRST, LAST] = [17_000, 30_000];

/**
 * Picks TCP ports that are free on every address right now. All are held until the last is picked, so that they
 * differ from each other. They stay free until what they are for has started: nobody is given one by the kernel.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = new Map<number, Server>();
  while (servers.size < count) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const server = createServer().listen(port);
    try {
      await once(server, 'listening');
      servers.set(port, server);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
  const all = [...servers.values()];
  await Promise.all(all.map((server) => new Promise((done) => server.close(done))));
  return [...servers.keys()];
}
