import { afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { buildPage } from '../../scripts/build-page.ts';
import { withoutVolatile } from '../support/commands/transcript.ts';
import { type Stage, useStage } from '../support/wrapper/stage.ts';

let stage: Stage;

beforeAll(async () => {
  await buildPage();
  stage = await useStage();
});

afterEach(() => {
  jest.restoreAllMocks();
});

/** A response as text. Of JSON each field has a line, and each item of a list. */
async function ask(method: string, path: string): Promise<string> {
  const response = await fetch(`${stage.admin.url}${path}`, { method });
  const { status, headers } = response;
  const allow = headers.get('allow') ?? '';
  const type = headers.get('content-type');
  const text = await response.text();
  const isJson = type === 'application/json' && text.startsWith('{');
  const body = isJson ? Object.entries(JSON.parse(text)).map(fieldOf).join('') : text;
  const places = {
    LISTEN: new URL(stage.proxy.url).host,
    SERVER: new URL(stage.apiServer).host,
    NODE_VERSION: process.version,
  };
  const head = `HTTP ${status} ${type} ${allow}`.trimEnd();
  return withoutVolatile(`\n${head}\n${body}`, places);
}

function fieldOf([name, value]: [string, unknown]): string {
  const lines = Array.isArray(value)
    ? value.map((item) => `\n  ${JSON.stringify(item)}`).join('')
    : ` ${JSON.stringify(value)}`;
  return `${name}:${lines}\n`;
}

test.each([
  '/explain',
  '/explain?limit=2',
  '/explain?limit=2&after=default/bare',
  // What is left empty in a form is not asked for.
  '/explain?namespace=&after=default/trial&limit=',
  '/explain?count=true&search=DEFAULT/+rack',
  '/explain?count=true&search=annotation+site',
  '/explain?count=true&search=no-policy',
  '/explain?count=true&show=filtered&limit=1',
  '/explain?count=true&show=failing',
  // And all warnings by kind, whatever kind is listed.
  '/explain?count=true&warnings=true&warning=nothing-matches',
  '/explain/default/web',
  '/diff/default/web',
  '/status',
  '/summary',
  '/decisions',
  '/version',
  '/healthz',
  '/readyz',
  '/explain/default/nobody',
  '/explain/default',
  '/explain?limit=0',
  '/explain?show=nonsense',
  '/explain?labelSelector==b',
  `/explain?search=${'x'.repeat(201)}`,
  '/diff/default/nobody',
  '/diff/default',
  '/explain/%E0/x',
  '/decisions?after=-1',
  '/nosuch',
])('GET %s', async (path) => {
  expect(await ask('GET', path)).toMatchSnapshot();
});

test('GET /explain with the code of a warning lists the Services that have it', async () => {
  const query = 'count=true&warning=nothing-matches';
  const answer = await ask('GET', `/explain?${query}`);
  expect(answer).toBe(await ask('GET', `/explain?${query}&warnings=true`));
  expect(answer).not.toBe(await ask('GET', '/explain?count=true'));
});

test.each([
  ['POST', '/healthz'],
  ['DELETE', '/explain/default/web'],
  ['POST', '/icon.svg'],
  // It writes: no link and no image of a web page may cause that.
  ['GET', '/flush'],
  ['POST', '/flush'],
  ['HEAD', '/nosuch'],
  ['POST', '/nosuch'],
])('%s %s', async (method, path) => {
  expect(await ask(method, path)).toMatchSnapshot();
});

// These take no names: each was once answered as without the rest.
test.each(['/status', '/summary', '/decisions', '/version', '/healthz', '/readyz'])(
  'GET %s/x is an unknown path',
  async (path) => {
    expect(await ask('GET', `${path}/x`)).toBe(await ask('GET', '/nosuch'));
  },
);

test.each(['/explain', '/diff'])('GET %s with more than two names is refused', async (path) => {
  const answer = await ask('GET', `${path}/default/web/more`);
  expect(answer).toBe(await ask('GET', `${path}/default`));
  expect(answer).toContain('HTTP 400');
});

test.each(['/', '/page.js', '/node', '/healthz', '/readyz', '/metrics', '/views', '/version'])(
  'HEAD %s is answered as GET, without the body',
  async (path) => {
    const get = await ask('GET', path);
    expect(get.startsWith(await ask('HEAD', path))).toBe(true);
  },
);

test('/metrics has what kube-proxy sees, and the Services whose traffic fails', async () => {
  const lines = (await ask('GET', '/metrics')).match(/^\w*(endpoints|service|node_set).*/gm) ?? [];
  expect(`\n${lines.sort().join('\n')}\n`).toMatchSnapshot();
});

// The page requests this every 2 s. It once explained as many Services as there are.
test('/explain explains only the Services that it lists', async () => {
  const codecs = new Set(stage.proxy.views.sources.map(({ view }) => view.codec));
  const reads = [...codecs].map((codec) => jest.spyOn(codec, 'service'));
  await ask('GET', '/explain?count=true&limit=2');
  expect(reads.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBe(2);
});

// Each request was a LIST: a script that asked in a loop cost the API server 95 LISTs a second.
test('no request to the API server is sent for an answer', async () => {
  const before = stage.server.requests.length;
  for (const path of ['/diff/default/web', '/explain', '/summary']) await ask('GET', path);
  expect(stage.server.requests.length).toBe(before);
});
