import { once } from 'node:events';
import { createServer, type ListenOptions, type Server } from 'node:net';

/** Below node ports, and below what the kernel gives to outgoing connections (ip_local_port_range). */
const [FIRST, LAST] = [17_000, 30_000];

/**
 * Picks TCP ports that are free on every address, each of them until this process ends: no other caller on this
 * machine gets one, and nobody is given one by the kernel. So what has one may start late, die and start again.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (await reserve(port)) ports.push(port);
  }
  return ports;
}

/**
 * The reservation is a listening socket with an abstract name. As ports do, such names belong to a network
 * namespace, and the kernel lets go of one when the process ends, however it ends.
 */
async function reserve(port: number): Promise<boolean> {
  const reservation = await listen({ path: `\0kube-proxy-wrapper-port-${port}` });
  if (!reservation) return false;
  const probe = await listen({ port });
  // Not free: somebody has it who does not ask here.
  if (!probe) reservation.close();
  else await new Promise((done) => probe.close(done));
  return probe !== undefined;
}

/** Nothing when the address is in use. */
async function listen(address: ListenOptions): Promise<Server | undefined> {
  const server = createServer().unref();
  try {
    await once(server.listen(address), 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return undefined;
  }
}
