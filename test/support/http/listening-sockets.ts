import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach } from '@jest/globals';

/** Opens sockets that share a port if one is given, in the order of `servers`. All of them close after each test. */
export function listeningSockets() {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });
  const listen = async (host: string, port = 0): Promise<number> => {
    const server = createServer();
    servers.push(server);
    server.listen({ host, port, reusePort: port !== 0 });
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  };
  return { servers, listen };
}
