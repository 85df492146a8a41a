import type { ClientRequest, IncomingMessage } from 'node:http';
import { Duplex, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { KubeConfig } from '@kubernetes/client-node';
// The package exports only classes that use it.
import { WebSocketHandler } from '@kubernetes/client-node/dist/web-socket-handler.js';
import type { Credentials } from '../../src/client/credentials/credentials.ts';
import { WrapperError } from '../../src/errors.ts';
import { responseError, statusMessage } from './response-error.ts';

/*
 * A TCP connection to a port of a Pod, through the API server and the kubelet: what kubectl port-forward does. The
 * kubelet's protocol over WebSocket (k8s.io/kubelet pkg/cri/streaming/portforward/websocket.go) has two channels for a
 * port, 0 for data and 1 for an error. The first message of each channel is the number of the port.
 *
 * The PortForward of client-node is not used: it loads the classes of all API objects, and its connection does not end
 * when the WebSocket does.
 */

const DATA = 0;
const ERROR = 1;
/** Largest message that is accepted. A kubelet sends at most 32 kB at once. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** The part of a WebSocket that is used here. */
interface Socket {
  once(event: 'close', listener: () => void): void;
  once(event: 'unexpected-response', listener: (_: unknown, r: IncomingMessage) => void): void;
  terminate(): void;
}

/**
 * Opens the connection. Rejects with what is missing: a right, the Pod, or the way to its node.
 *
 * @param signal ends the connection, also while it is opened: an API server waits long for a node without power
 */
export async function openPortForward(
  credentials: Credentials,
  pod: PodName,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  const { namespace, name } = pod;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/portforward?ports=${port}`;
  const received = new PassThrough();
  const sent = new PassThrough();
  const stream = Duplex.from({ readable: received, writable: sent });
  // An error may come before the HTTP client listens. Without a listener it would end the process.
  stream.on('error', () => {});
  const opened = new Set<number>();
  const receive = (channel: number, content: Buffer): boolean => {
    if (!opened.has(channel)) opened.add(channel);
    else if (channel === DATA) received.write(content);
    else if (channel === ERROR) {
      const reason = content.toString('utf8').trim().slice(0, 500);
      const what = `port ${port} of Pod ${namespace}/${name} is unreachable: ${reason}`;
      stream.destroy(new WrapperError('Unreachable', what));
    }
    return true;
  };
  const refused = Promise.withResolvers<never>();
  const config = configOf(credentials, signal, (response) => {
    void refusal(credentials, pod, response).then(refused.reject);
  });
  // Its default are the streams of this process, and a server could close them.
  const streams = { stdin: sent, stdout: received, stderr: received };
  const handler = new WebSocketHandler(config, undefined, streams);
  try {
    const socket = await Promise.race([handler.connect(path, null, receive), refused.promise]);
    WebSocketHandler.handleStandardInput(socket, sent);
    socket.once('close', () => received.end());
    if (stream.destroyed) socket.terminate();
    else stream.once('close', () => socket.terminate());
    return stream;
  } catch (error) {
    throw error instanceof WrapperError ? error : unreachable(pod, (error as Error).message);
  }
}

/** The API server and the identity, in the form that WebSocketHandler reads them from a KubeConfig. */
function configOf(
  credentials: Credentials,
  signal: AbortSignal,
  onRefusal: (response: IncomingMessage) => void,
): KubeConfig {
  const [server] = credentials.servers;
  const config = {
    getCurrentCluster: () => ({ server: server?.href.replace(/\/$/, '') }),
    // It passes the options on to the WebSocket.
    async applyToHTTPSOptions(options: object) {
      Object.assign(options, {
        ...credentials.tls(),
        headers: await credentials.headers(),
        maxPayload: MAX_MESSAGE_BYTES,
        perMessageDeflate: false,
        finishRequest(request: ClientRequest, socket: Socket) {
          socket.once('unexpected-response', (_, response) => onRefusal(response));
          const end = () => socket.terminate();
          if (signal.aborted) return end();
          signal.addEventListener('abort', end, { once: true });
          request.end();
        },
      });
    },
  };
  return config as unknown as KubeConfig;
}

function unreachable({ namespace, name }: PodName, why: string): WrapperError {
  return new WrapperError(
    'Unreachable',
    `cannot forward a port of Pod ${namespace}/${name}: ${why}`,
  );
}

/** What a response other than 101 means. */
async function refusal(
  { servers }: Credentials,
  pod: PodName,
  response: IncomingMessage,
): Promise<WrapperError> {
  const { statusCode } = response;
  const body = await text(response).catch(() => '');
  if (statusCode === 401 || statusCode === 403) {
    const right = `create and get pods/portforward in namespace ${pod.namespace}`;
    return responseError(servers[0]?.host ?? '', statusCode, body, right);
  }
  // The API server passes on what a kubelet answers, which is text.
  const [line = ''] = body.trim().split('\n', 1);
  const said = statusMessage(body) ?? `HTTP ${statusCode}: ${line.slice(0, 200)}`;
  return unreachable(pod, statusCode === 404 ? `${said}; ${UNKNOWN_POD}` : said);
}

/** A kubelet that starts does not know its Pods before it has read them. A Pod can be replaced after it was listed. */
const UNKNOWN_POD = 'its node has just started, or the Pod was replaced: try again in a minute';
