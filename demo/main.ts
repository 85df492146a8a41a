import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type ApiServer, createApiServer } from '../embedded/api-server.ts';
import { printLine } from '../src/untrusted-text.ts';
import { HELP, runCommand } from './commands.ts';
import { DemoNodes } from './nodes.ts';
import { openBrowser } from './open-browser.ts';
import { startPageServer } from './page-server.ts';
import { formatTable, rowsOf } from './table.ts';

/** Commands that the demo runs by itself, with a note for the user. */
const TOUR: readonly [command: string, note: string][] = [
  ['label edge-1 site=b', 'this node moves to site b and gets other neighbours'],
  [
    'annotate web topologyKeys=["kubernetes.io/hostname"]',
    'only endpoints on this node may answer web',
  ],
  ['annotate web topologyKeys-', 'web has no policy: all endpoints are shown'],
  ['annotate web topologyKeys=["kubernetes.io/hostname","site","*"]', 'web has a policy again'],
  ['label edge-1 site=a', 'this node returns to site a'],
];

const { values } = parseArgs({
  options: {
    /** Runs the tour without pauses and then ends; for tests. */
    once: { type: 'boolean', default: false },
    node: { type: 'string', default: 'edge-1' },
    cluster: { type: 'string', default: 'examples/cluster.yaml' },
  },
});

const server = createApiServer();
server.loadYaml(await readFile(values.cluster, 'utf8'));
if (server.get('nodes', values.node) === undefined) {
  const names = server.list('nodes').map(({ metadata }) => metadata.name);
  const message = `there is no node ${values.node} in ${values.cluster}; the nodes are ${names.join(', ')}`;
  process.stderr.write(printLine(message));
  process.exit(1);
}
const upstream = await server.listen();
const nodes = new DemoNodes(upstream, drawSoon);
let redraw: NodeJS.Timeout | undefined;
const { proxy, client } = await nodes.get(values.node);
const page = await startPageServer({ server, nodes, first: values.node, onCommand: echo });
try {
  console.log(
    `An API server in memory (${upstream}), the wrapper for node ${values.node} in front of`,
  );
  console.log(`it (${proxy.url}), and a client that watches EndpointSlices as kube-proxy does.\n`);
  console.log(`The same for each node, as a web page with buttons: ${page.url}\n`);
  if (!values.once && process.stdout.isTTY) openBrowser(page.url);
  draw();
  await tour(server);
  if (!values.once) await readCommands(server);
} finally {
  clearTimeout(redraw);
  await page.close();
  await nodes.close();
  await server.close();
}

/** Shows a command that came from the page. */
function echo(command: string): void {
  print('', `> ${command}    # from the page`);
  drawSoon();
}

/** Prints lines that may contain untrusted text. */
function print(...lines: readonly string[]): void {
  process.stdout.write(lines.map(printLine).join(''));
}

/** Draws after a moment, so that related changes are drawn together. */
function drawSoon(): void {
  redraw ??= setTimeout(draw, 100);
}

function draw(): void {
  clearTimeout(redraw);
  redraw = undefined;
  const labels = [...(proxy.topology.nodeContext?.labels ?? [])].map(
    ([key, value]) => `${key}=${value}`,
  );
  print('', `${values.node}: ${labels.join(', ')}`);
  console.log(formatTable(rowsOf(server, proxy.topology, client.shown)));
}

async function tour(api: ApiServer): Promise<void> {
  // In a terminal, time to read.
  const pause = values.once || !process.stdout.isTTY ? 300 : 2500;
  for (const [command, note] of TOUR) {
    await delay(pause);
    print('', `> ${command}    # ${note}`);
    runCommand(api, command);
    drawSoon();
  }
  await delay(300);
}

async function readCommands(api: ApiServer): Promise<void> {
  console.log(`\nYour turn.\n${HELP}\n`);
  const lines = createInterface({ input: process.stdin });
  for await (const line of lines) {
    try {
      const result = runCommand(api, line);
      if (result === 'quit') break;
      if (result.text !== '') print(...result.text.split('\n'));
      drawSoon();
    } catch (error) {
      print(error instanceof Error ? error.message : String(error));
    }
    // Shows the effect of a command before the next one, also if the lines come from a pipe.
    await delay(200);
  }
  lines.close();
}
