import type { OutgoingHttpHeaders } from 'node:http';

/** What something else than an API server answers to any request. */
export interface ForeignAnswer {
  readonly statusCode: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' };
const JSON_TYPE = { 'content-type': 'application/json' };
const HTML = { 'content-type': 'text/html' };
const PAGE = '<!doctype html><html><title>Welcome</title><body>Please log in</body></html>';
const OTHER_LIST = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: '9' } };

/** Seen in the field: portals, ingress controllers, firewalls, other JSON APIs. */
export const FOREIGN_ANSWERS = {
  '404 text': { statusCode: 404, headers: TEXT, body: '404 page not found\n' },
  '404 JSON': { statusCode: 404, headers: JSON_TYPE, body: '{"message":"no Route matched"}' },
  '401 text': { statusCode: 401, headers: TEXT, body: 'Unauthorized' },
  '403 text': { statusCode: 403, headers: TEXT, body: 'Access denied by the firewall' },
  '503 text': { statusCode: 503, headers: TEXT, body: 'no healthy upstream' },
  '200 JSON': { statusCode: 200, headers: JSON_TYPE, body: '{"status":"ok"}' },
  '200 JSON, a list of another kind': {
    statusCode: 200,
    headers: JSON_TYPE,
    body: JSON.stringify({ ...OTHER_LIST, items: [] }),
  },
  '200 HTML': { statusCode: 200, headers: HTML, body: PAGE },
  'a redirect': { statusCode: 302, headers: { location: 'https://portal.example/' }, body: '' },
  '511 HTML': { statusCode: 511, headers: HTML, body: PAGE },
} satisfies Record<string, ForeignAnswer>;
