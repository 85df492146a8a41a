import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { ApiServer } from '../fake-apiserver/api-server.ts';
import { loadPageAssets } from '../src/admin/page/page-assets.ts';
import { PAGE_HEADERS } from '../src/admin/page/page-server.ts';
import { WrapperError } from '../src/errors.ts';
import { HttpListener } from '../src/server/http/http-listener.ts';
import { ListenerCounter } from '../src/server/http/listener-counter.ts';
import { DEFAULT_LISTENER_LIMITS } from '../src/server/http/listener-limits.ts';
import { RefusalLog } from '../src/server/http/refusal-log.ts';
import { assertLocalRequest, assertNoRequestSmuggling } from '../src/server/http/request-checks.ts';
import { clusterOf } from './cluster.ts';
import { parseLine, runChange, TERMINAL } from './commands.ts';
import { loadDemoBar } from './load-demo-bar.ts';
import type { DemoNodes } from './nodes.ts';

export interface PageServerOptions {
  readonly server: ApiServer;
  readonly nodes: DemoNodes;
  /** Name of the node that is shown first. */
  readonly first: string;
  readonly logger: Logger;
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
  const bar = loadDemoBar();
  // The requests for it report the error.
  bar.catch(() => {});
  const listener = new HttpListener({
    name: 'demo page',
    address: { host: '127.0.0.1', port: 0 },
    listenerLimits: DEFAULT_LISTENER_LIMITS,
    refusals: new RefusalLog(options.logger),
    requests: new ListenerCounter(),
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
  bar: ReturnType<typeof loadDemoBar>,
): Promise<void> {
  assertNoRequestSmuggling(request);
  assertLocalRequest(request);
  const { server, nodes, first, onCommand } = options;
  const { url = '/', method } = request;
  const { pathname, searchParams } = new URL(url, 'http://demo');
  const isCommand = pathname === '/demo/command' && method === 'POST';
  if (isCommand || pathname === '/demo/cluster') {
    if (isCommand) onCommand(await runFromPage(server, request));
    const [node = '', service = ''] = ['node', 'service'].map(
      (name) => searchParams.get(name) ?? '',
    );
    const { proxy } = await nodes.get(server.get('nodes', node) === undefined ? first : node);
    const cluster = clusterOf(server, proxy.topology.policies, { node, service });
    return send(response, 200, 'application/json', JSON.stringify(cluster));
  }
  if (url === '/demo.js') return send(response, 200, 'text/javascript', (await bar).js);
  if (url === '/demo.css') return send(response, 200, 'text/css', (await bar).css);
  if (url === '/') {
    const opened = server.get('services', 'default/web') === undefined ? '' : '#default/web';
    response.writeHead(302, { location: `/nodes/${encodeURIComponent(first)}/${opened}` }).end();
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
  const { answer } = await nodes.get(node);
  if (rest === '/') {
    const { html } = await loadPageAssets();
    return send(response, 200, 'text/html; charset=utf-8', withBar(html));
  }
  request.url = rest;
  answer(request, response);
}

function withBar(html: string): string {
  const head =
    '<link rel="stylesheet" href="/demo.css"><script src="/demo.js" defer></script></head>';
  return html.replace('</head>', head).replace('<div id="page">', '<div id="demo"></div>$&');
}

/** Runs the command of a request, and returns it. */
async function runFromPage(server: ApiServer, request: IncomingMessage): Promise<string> {
  const command = await readCommand(request);
  const { verb } = parseLine(command);
  if (TERMINAL.some((name) => name === verb)) {
    throw new WrapperError('BadRequest', `${verb} works in the terminal of the demo only`);
  }
  runChange(server, command);
  return command;
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
