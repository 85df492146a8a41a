import type { IncomingMessage, ServerResponse } from 'node:http';
import { pino } from 'pino';
import type { ApiServer } from '../embedded/api-server.ts';
import { bundleForBrowser } from '../scripts/bundle-page.ts';
import { loadPageAssets } from '../src/admin/page/load-page-assets.ts';
import { PAGE_HEADERS } from '../src/admin/page/page-server.ts';
import { WrapperError } from '../src/errors.ts';
import { HttpListener } from '../src/proxy/http/http-listener.ts';
import { DEFAULT_LISTENER_LIMITS } from '../src/proxy/http/listener-limits.ts';
import { assertLocalRequest, assertNoRequestSmuggling } from '../src/proxy/http/request-checks.ts';
import { clusterOf } from './cluster.ts';
import { runCommand } from './commands.ts';
import type { DemoNodes } from './nodes.ts';

export interface PageServerOptions {
  readonly server: ApiServer;
  readonly nodes: DemoNodes;
  /** Name of the node that is shown first. */
  readonly first: string;
  /** Called after each command from the page. */
  readonly onCommand: (command: string) => void;
}

export interface DemoPageServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Maximum size of a command from the page. */
const MAX_COMMAND_BYTES = 4_096;

/**
 * Serves the page of every node under /nodes/<name>/, like its admin port, with the bar of the demo on top. The bar can
 * change the cluster: /demo/command runs the commands of the terminal.
 */
export async function startPageServer(options: PageServerOptions): Promise<DemoPageServer> {
  const bar = bundleForBrowser('demo/page/main.tsx', 'demo/page/style.css');
  // The requests for it report the error.
  bar.catch(() => {});
  const listener = new HttpListener({
    name: 'demo page',
    address: { host: '127.0.0.1', port: 0 },
    bounds: DEFAULT_LISTENER_LIMITS,
    logger: pino({ level: 'warn' }),
    onRequest: (request, response) => {
      answer(request, response, options, bar).catch((error: unknown) => {
        const { code, message } = WrapperError.from(error, 'BadRequest');
        send(response, code === 'NotFound' ? 404 : 400, 'text/plain; charset=utf-8', message);
      });
    },
  });
  return { url: `${await listener.listen()}/`, close: () => listener.close(0, () => {}) };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: PageServerOptions,
  bar: ReturnType<typeof bundleForBrowser>,
): Promise<void> {
  assertNoRequestSmuggling(request);
  assertLocalRequest(request);
  const { server, first, onCommand } = options;
  const { url = '/', method } = request;
  if (url === '/demo/command' && method === 'POST') {
    const command = await readCommand(request);
    if (runCommand(server, command) === 'quit') {
      throw new WrapperError('BadRequest', 'the demo can only be ended in its terminal');
    }
    onCommand(command);
    return send(response, 200, 'application/json', JSON.stringify(clusterOf(server)));
  }
  if (url === '/demo/cluster') {
    return send(response, 200, 'application/json', JSON.stringify(clusterOf(server)));
  }
  if (url === '/demo.js') return send(response, 200, 'text/javascript', (await bar).js);
  if (url === '/demo.css') return send(response, 200, 'text/css', (await bar).css);
  if (url === '/') {
    response.writeHead(302, { location: `/nodes/${encodeURIComponent(first)}/#default/web` }).end();
    return;
  }
  await answerOfNode(request, response, options);
}

/** Answers like the admin port of a node, but adds the bar to the page. */
async function answerOfNode(
  request: IncomingMessage,
  response: ServerResponse,
  { server, nodes }: PageServerOptions,
): Promise<void> {
  const [, name = '', rest] = /^\/nodes\/([^/]+)(\/.*)$/.exec(request.url ?? '') ?? [];
  const node = decodeURIComponent(name);
  if (rest === undefined || server.get('nodes', node) === undefined) {
    throw new WrapperError('NotFound', 'there is no such node');
  }
  const { admin } = await nodes.get(node);
  if (rest === '/') {
    const { html } = await loadPageAssets();
    return send(response, 200, 'text/html; charset=utf-8', withBar(html));
  }
  request.url = rest;
  admin.handle(request, response);
}

function withBar(html: string): string {
  const head =
    '<link rel="stylesheet" href="/demo.css"><script src="/demo.js" defer></script></head>';
  return html.replace('</head>', head).replace('<div id="page">', '<div id="demo"></div>$&');
}

async function readCommand(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) {
    body += String(chunk);
    if (body.length > MAX_COMMAND_BYTES)
      throw new WrapperError('TooLarge', 'the command is too long');
  }
  return body;
}

function send(response: ServerResponse, code: number, type: string, body: string): void {
  response.writeHead(code, { ...PAGE_HEADERS, 'content-type': type }).end(body);
}
