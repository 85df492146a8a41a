import { readFileSync } from 'node:fs';
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';

/** How a relay answers in place of the server. */
export interface AnswerFault {
  readonly kind: 'answer';
  /** Files of the certificate that it shows, PEM. */
  readonly certFile: string;
  readonly keyFile: string;
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  /** A body that never ends: as fast as it is taken, or a byte now and then. Default: a Status. */
  readonly body?: 'endless' | 'slow';
}

/** Serves connections in place of a server, over https. */
export interface Answerer {
  take(socket: Socket): void;
  /** Connections that came so far that they were harmed. */
  readonly harmed: number;
  stop(): void;
}

const SLOW_MS = 100;

export function createAnswerer(fault: AnswerFault): Answerer {
  const { certFile, keyFile, status, headers = {}, body } = fault;
  let harmed = 0;
  const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  const server = createServer(tls, (request, response) => {
    const type = request.headers.accept?.split(/[;,]/, 1)[0] ?? 'application/json';
    response.writeHead(status, { ...headers, 'content-type': body ? type : 'application/json' });
    if (body === undefined) {
      const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status };
      response.end(JSON.stringify({ ...body, message: 'a fault' }));
    } else {
      writeForEver(response, body);
    }
  });
  for (const came of ['secureConnection', 'tlsClientError']) {
    server.on(came, () => {
      harmed += 1;
    });
  }
  return {
    take: (socket) => void server.emit('connection', socket),
    get harmed() {
      return harmed;
    },
    stop: () => server.closeAllConnections(),
  };
}

function writeForEver(response: ServerResponse, body: 'endless' | 'slow'): void {
  response.on('error', () => {});
  if (body === 'slow') {
    const timer = setInterval(() => response.write(Buffer.from([0])), SLOW_MS);
    response.once('close', () => clearInterval(timer));
    return;
  }
  const block = Buffer.alloc(65_536, 1);
  const write = () => {
    while (!response.destroyed && response.write(block));
  };
  response.on('drain', write);
  write();
}
