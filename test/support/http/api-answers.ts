import type { ServerResponse } from 'node:http';

const JSON_TYPE = { 'content-type': 'application/json' };
const METADATA = { resourceVersion: '1' };

/** Answers a list as an API server does that works. */
export function answerList(response: ServerResponse): void {
  const list = { kind: 'PartialObjectMetadataList', metadata: METADATA, items: [] };
  response.writeHead(200, JSON_TYPE).end(JSON.stringify(list));
}

/** Refuses a request with a Status, as an API server does. */
export function refuseWithStatus(response: ServerResponse, code: number): void {
  const status = { kind: 'Status', code, reason: 'Refused', message: 'no' };
  response.writeHead(code, JSON_TYPE).end(JSON.stringify(status));
}
