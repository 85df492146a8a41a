/**
 * What a listener does with a request: statuses of its answer, such as `200`, `4xx` or `400|403`, or `end` for a
 * connection that ends without one. ` +` after it: the request, or what became of it, reaches the API server.
 */
export type Expected = string;

/** One request, and what is expected of each listener; absent: it is not sent there. */
export interface Attack {
  readonly name: string;
  /** The bytes of the request; `lines` authenticate the caller, each with its CR LF. */
  readonly bytes: (lines: string) => string;
  readonly http?: Expected;
  readonly https?: Expected;
  /** On the admin port, with the path /healthz in place of that of the Services. */
  readonly admin?: Expected;
}

/** Where kube-proxy writes its Events. */
export const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
export const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';

/** A request with `Connection: close`. Default: GET of the Services from 127.0.0.1. */
export interface RequestParts {
  readonly method?: string;
  readonly path?: string;
  readonly host?: string | undefined;
  readonly connection?: string;
  readonly headers?: string;
  readonly body?: string;
}

/** The bytes of a request. */
export function request(parts: RequestParts): (lines: string) => string {
  const { method = 'GET', path = '/api/v1/services', host = '127.0.0.1' } = parts;
  const { connection = 'close', headers = '', body } = parts;
  const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  const rest = `Connection: ${connection}\r\n${length}${headers === '' ? '' : `${headers}\r\n`}`;
  return (lines) =>
    `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines}${rest}\r\n${body ?? ''}`;
}

/** A GET of a path. */
export function path(value: string, http: Expected, https: Expected): Attack {
  return { name: `GET ${value}`, bytes: request({ path: value }), http, https };
}

/** A GET of the Services with header lines. */
export function header(lines: string, http: Expected, https: Expected, admin?: Expected): Attack {
  const name = lines.slice(0, 70);
  return { name, bytes: request({ headers: lines }), http, https, ...(admin && { admin }) };
}
