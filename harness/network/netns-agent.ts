/**
 * Runs inside a node's namespace: answers on endpoint addresses, connects to Services and requests
 * URLs there. One process for all, because starting one for each request takes longer than
 * what is measured. Reads {@link AgentRequest} lines and writes {@link AgentAnswer} lines.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { get } from 'node:http';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import {
  type ActiveTcpFault,
  type SocketAddress,
  startTcpFront,
  type TcpFault,
  type TcpFront,
} from './tcp-front.ts';

/** One request. `endpoint` and `target` are `ip:port`, with an IPv6 address in brackets. */
export type AgentRequest =
  | { readonly op: 'listen'; readonly endpoint: string }
  | {
      readonly op: 'dial';
      readonly target: string;
      readonly count: number;
      readonly timeoutMs: number;
    }
  /** Sends a datagram from a fixed port, so that the kernel takes it for the flow of the last one. */
  | {
      readonly op: 'datagram';
      readonly target: string;
      readonly fromPort: number;
      readonly timeoutMs: number;
    }
  | { readonly op: 'http'; readonly url: string; readonly timeoutMs: number }
  /** Passes connections on; see tcp-front.ts. Each address is `ip:port`, or the path of a Unix socket. */
  | { readonly op: 'relay'; readonly endpoint: string; readonly target: string }
  /**
   * Harms what passes the relay at this endpoint, in place of what did so before; null heals. Answers how many
   * connections the last fault has harmed.
   */
  | { readonly op: 'fault'; readonly endpoint: string; readonly fault: TcpFault | null }
  /** Cuts the connections of the relay at this endpoint; answers how many there were. */
  | { readonly op: 'cut'; readonly endpoint: string };

type DialRequest = Extract<AgentRequest, { op: 'dial' }>;
type DatagramRequest = Extract<AgentRequest, { op: 'datagram' }>;
type RelayRequest = Extract<AgentRequest, { op: 'relay' }>;

/** The response to the request of this id. */
export interface AgentAnswer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** What became of a connection or a datagram: the endpoint that answered, `refused`, `timeout` or an errno. */
type DialOutcome = string;

const parallelDials = 16;

async function main(): Promise<void> {
  const relays = new Map<string, Relay>();
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, ...request } = JSON.parse(line) as AgentRequest & { readonly id: number };
    void answer(request as AgentRequest, relays).then(
      (result) => write({ id, result }),
      (error: unknown) => write({ id, error: String(error) }),
    );
  }
  process.exit(0);
}

function write(answer: AgentAnswer): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

async function answer(request: AgentRequest, relays: Map<string, Relay>): Promise<unknown> {
  switch (request.op) {
    case 'listen':
      return await listen(request.endpoint);
    case 'dial':
      return await dialMany(request);
    case 'datagram':
      return await sendDatagram(request);
    case 'http':
      return await fetchText(request.url, request.timeoutMs);
    case 'relay':
      relays.set(request.endpoint, { front: await startRelay(request), fault: undefined });
      return true;
    case 'fault':
      return await harm(relays.get(request.endpoint), request.fault);
    case 'cut':
      return relays.get(request.endpoint)?.front.cut();
  }
}

/** A front of connections, and its last fault, which may have ended. */
interface Relay {
  readonly front: TcpFront;
  fault: ActiveTcpFault | undefined;
}

async function startRelay({ endpoint, target }: RelayRequest): Promise<TcpFront> {
  return await startTcpFront({
    listen: toAddress(endpoint),
    target: toAddress(target),
    hold: true,
  });
}

async function harm(relay: Relay | undefined, fault: TcpFault | null): Promise<number> {
  if (relay === undefined) throw new Error('there is no such relay');
  const last = relay.fault;
  await last?.end();
  relay.fault = fault === null ? undefined : await relay.front.begin(fault);
  return last?.hits() ?? 0;
}

/** By TCP and by UDP. */
async function listen(endpoint: string): Promise<void> {
  const { host, port: number } = toTarget(endpoint);
  const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  udp.on('message', (_, { port, address }) => udp.send(endpoint, port, address));
  udp.bind(number, host);
  await once(udp, 'listening');
  udp.on('error', () => {});
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(endpoint);
  });
  server.listen(toTarget(endpoint));
  await once(server, 'listening');
}

function toTarget(endpoint: string): { host: string; port: number } {
  const colon = endpoint.lastIndexOf(':');
  const host = endpoint.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(endpoint.slice(colon + 1)) };
}

function toAddress(endpoint: string): SocketAddress {
  return endpoint.startsWith('/') ? { path: endpoint } : toTarget(endpoint);
}

async function dialMany(request: DialRequest): Promise<Record<DialOutcome, number>> {
  const { count } = request;
  const counts: Record<DialOutcome, number> = {};
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const outcome = await dialOnce(request);
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, parallelDials) }, worker));
  return counts;
}

async function dialOnce({ target, timeoutMs }: DialRequest): Promise<DialOutcome> {
  return await new Promise((done) => {
    const socket = connect(toTarget(target));
    let text = '';
    const finish = (outcome: DialOutcome) => {
      socket.destroy();
      done(outcome);
    };
    socket.setTimeout(timeoutMs, () => finish('timeout'));
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    socket.once('end', () => finish(text));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      finish(error.code === 'ECONNREFUSED' ? 'refused' : (error.code ?? error.message)),
    );
  });
}

async function sendDatagram(request: DatagramRequest): Promise<DialOutcome> {
  const { host, port } = toTarget(request.target);
  const socket = createSocket('udp4').on('error', () => {});
  try {
    socket.bind(request.fromPort);
    await once(socket, 'listening');
    socket.connect(port, host);
    await once(socket, 'connect');
    socket.send('?');
    const [text] = await once(socket, 'message', {
      signal: AbortSignal.timeout(request.timeoutMs),
    });
    return String(text);
  } catch (error) {
    const { name, code } = error as NodeJS.ErrnoException;
    if (name === 'AbortError') return 'timeout';
    return code === 'ECONNREFUSED' ? 'refused' : `${code}`;
  } finally {
    socket.close();
  }
}

async function fetchText(
  url: string,
  timeoutMs: number,
): Promise<{ status: number; body: string }> {
  return await new Promise((done, fail) => {
    const request = get(url, { agent: false, timeout: timeoutMs }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.once('error', fail);
      response.once('end', () => done({ status: response.statusCode ?? 0, body }));
    });
    request.once('timeout', () => request.destroy(new Error('timeout')));
    request.once('error', fail);
  });
}

await main();
