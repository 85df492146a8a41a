import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { explainRoutes } from '../../src/admin/explain-routes.ts';
import { KernelRules } from '../../src/admin/status/kernel-rules.ts';
import { NodeReader } from '../../src/diagnosis/reading/node-reading.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';

describe('explanations', () => {
  let server: Server;
  let url: string;
  /** Requests that wait for a view. */
  let waiting: number;
  let received: number;
  let closed: number;

  beforeEach(async () => {
    waiting = 0;
    const view = { started: false, whenSettled: () => undefined };
    const source = { view, projection: {}, query: { resource: {}, labelSelector: '' } };
    let looks = 0;
    const views = {
      users: () => 0,
      openDefault() {
        waiting++;
        looks = 2;
      },
      // No view is open; the one that each request opens never becomes complete.
      get kubeProxy() {
        return looks-- > 0 ? { endpoints: source } : {};
      },
    };
    const reader = new NodeReader({ views } as unknown as NodeProxy);
    const diff = new Map(explainRoutes(reader, new KernelRules(reader))).get('/diff');
    received = 0;
    closed = 0;
    server = createServer((message, response) => {
      received++;
      response.once('close', () => closed++);
      void diff?.(message, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/diff/default/web`;
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  test('run four at a time; an aborted request ends', async () => {
    const gone = new AbortController();
    const { signal } = gone;
    const clients = Array.from({ length: 12 }, () => fetch(url, { signal }).catch(() => undefined));
    await eventually(() => received, 12);
    expect(waiting).toBe(4);
    gone.abort();
    await Promise.all(clients);
    // Those that waited for their turn may have had it before the server knew that they had gone.
    await eventually(() => closed, 12);
    const before = waiting;
    // The next one does not wait for them.
    const next = new AbortController();
    const asked = fetch(url, { signal: next.signal }).catch(() => undefined);
    await eventually(() => waiting, before + 1);
    next.abort();
    await asked;
  });
});
