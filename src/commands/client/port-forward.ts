import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type RawData, WebSocket } from 'ws';
import { WrapperError } from '../../errors.ts';
import type { Credentials } from '../../proxy/credentials/credentials.ts';
import type { PodName } from '../remote/wrapper-pods.ts';

/*
 * A TCP connection to a port of a Pod, through the API server and the kubelet: what kubectl port-forward does. The
 * kubelet's protocol over WebSocket (k8s.io/kubelet pkg/cri/streaming/portforward/websocket.go) has two channels for a
 * port, 0 for data and 1 for an error. The first byte of a message is its channel, and the first message of each channel
 * is the number of the port.
 */

const PROTOCOL = 'v4.channel.k8s.io';
const DATA = 0;
const ERROR = 1;
/** Time to connect to the Pod, in milliseconds. */
const CONNECT_MS = 15_000;
/** Largest message that is accepted. A kubelet sends at most 32 kB at once. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** Opens the connection. Rejects with what is missing: a right, the Pod, or the way to its node. */
export async function openPortForward(
  credentials: Credentials,
  pod: PodName,
  port: number,
): Promise<Duplex> {
  const [server] = credentials.servers;
  const { namespace, name } = pod;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/portforward?ports=${port}`;
  const base = server?.href.replace(/^http/, 'ws').replace(/\/$/, '');
  const socket = new WebSocket(`${base}${path}`, [PROTOCOL], {
    ...credentials.tls(),
    headers: { ...(await credentials.headers()) },
    handshakeTimeout: CONNECT_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  return await new Promise<Duplex>((resolve, reject) => {
    // It hears the first message, which may arrive together with the handshake.
    const stream = new ForwardedStream(socket, `${namespace}/${name}`, port);
    socket.once('open', () => {
      // An error must not be emitted before the reader listens.
      socket.pause();
      resolve(stream);
    });
    socket.once('error', (error) => reject(unreachable(pod, handshakeProblem(error))));
    socket.once('unexpected-response', (_, response) => {
      const status = response.statusCode ?? 0;
      text(response).then(
        (body) => reject(refusal(pod, status, body)),
        (error: Error) => reject(unreachable(pod, error.message)),
      );
    });
  });
}

/** The data of a forwarded port. Its methods of a socket do nothing; an http.Agent calls them. */
class ForwardedStream extends Duplex {
  readonly #socket: WebSocket;
  readonly #about: string;
  /** Channels whose first message, the port, has arrived. */
  readonly #opened = new Set<number>();

  constructor(socket: WebSocket, pod: string, port: number) {
    super();
    this.#socket = socket;
    this.#about = `port ${port} of Pod ${pod}`;
    // The http client adds its listener a moment later. Without one an error would end the process.
    this.on('error', () => {});
    socket.on('message', (data) => this.#receive(data));
    socket.on('error', (error) => this.destroy(error));
    socket.once('close', () => this.push(null));
  }

  #receive(data: RawData): void {
    const message = Buffer.isBuffer(data) ? data : Buffer.concat([data].flat() as Uint8Array[]);
    const channel = message[0] ?? DATA;
    const content = message.subarray(1);
    if (!this.#opened.has(channel)) {
      this.#opened.add(channel);
      return;
    }
    if (channel === ERROR) {
      const reason = content.toString('utf8').trim().slice(0, 500);
      const what = `${this.#about} cannot be reached: ${reason}`;
      this.destroy(new WrapperError('Unreachable', what));
    } else if (channel === DATA && !this.push(content)) {
      this.#socket.pause();
    }
  }

  override _read(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  override _write(chunk: Buffer, _: string, done: (error?: Error | null) => void): void {
    this.#socket.send(Buffer.concat([Buffer.of(DATA), chunk]), done);
  }

  override _final(done: () => void): void {
    // This protocol cannot end one direction only.
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.terminate();
    done(error);
  }

  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** The API server answers the handshake when it has reached the kubelet. */
function handshakeProblem({ message }: Error): string {
  const isTimeout = message.includes('handshake has timed out');
  return isTimeout
    ? 'the API server has not reached the kubelet of its node in time; is the node cut off?'
    : message;
}

function unreachable({ namespace, name }: PodName, why: string): WrapperError {
  return new WrapperError(
    'Unreachable',
    `cannot forward a port of Pod ${namespace}/${name}: ${why}`,
  );
}

/** What a response other than 101 means. */
function refusal(pod: PodName, status: number, body: string): WrapperError {
  const message = messageOf(body) || `the API server answered ${status}`;
  if (status !== 403) return unreachable(pod, message);
  const right = `create and get pods/portforward in namespace ${pod.namespace}`;
  return new WrapperError('Refused', `you need the right to ${right}: ${message}`);
}

function messageOf(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    return typeof message === 'string' ? message : '';
  } catch {
    return body.trim().slice(0, 200);
  }
}
