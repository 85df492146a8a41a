import { EVENTS, kubeProxyEvent } from './events.ts';
import { HEADER_ROWS } from './probe-headers.ts';
import { PATH_ROWS } from './probe-paths.ts';
import { type ProbeRow, request } from './probe-request.ts';

const WRITES: ProbeRow[] = [
  {
    name: "kube-proxy's own Event",
    bytes: (lines) =>
      request({
        method: 'POST',
        path: EVENTS,
        headers: 'Content-Type: application/json',
        body: kubeProxyEvent('edge-1'),
      })(lines),
    http: '403',
    https: '201 +',
  },
  {
    name: 'an Event of unknown size',
    bytes: request({ method: 'POST', path: EVENTS, headers: 'Transfer-Encoding: chunked' }),
    http: '400|403',
  },
  ...['DELETE', 'GET', 'PUT', 'PATCH'].map((method) => ({
    name: `${method} ${EVENTS}`,
    bytes: request({ method, path: EVENTS, body: '{}' }),
    http: '400|403|405',
  })),
];

/** All probes, except framings that are refused (framings.ts). */
export const PROBE_ROWS: readonly ProbeRow[] = [...PATH_ROWS, ...HEADER_ROWS, ...WRITES];
