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

/** What the demo does by itself, with what the newcomer should notice. */
const TOUR: readonly [command: string, note: string][] = [
  ['label edge-1 site=b', 'this node moves to site b: its neighbours are others now'],
  ['annotate web topologyKeys=["kubernetes.io/hostname"]', 'web may be answered on this node only'],
  ['annotate web topologyKeys-', 'web has no policy: all endpoints are shown'],
  ['annotate web topologyKeys=["kubernetes.io/hostname","site","*"]', 'and it has one again'],
  ['label edge-1 site=a', 'this node comes back to site a'],
];

const { values } = parseArgs({
  options: {
    /** The tour without pauses, then the end: for tests. */
    once: { type: 'boolean', default: false },
    node: { type: 'string', default: 'edge-1' },
    cluster: { type: 'string', default: 'examples/cluster.yaml' },
  },
});

const server = createApiServer();
server.loadYaml(await readFile(values.cluster, 'utf8'));
if (server.get('nodes', values.node) === undefined) {
  const names = server.list('nodes').map(({ metadata }) => metadata.name);
  const said = `there is no node ${values.node} in ${values.cluster}: ${names.join(', ')}`;
  process.stderr.write(printLine(said));
  process.exit(1);
}
const upstream = await server.listen();
const nodes = new DemoNodes(upstream, drawSoon);
let redraw: NodeJS.Timeout | undefined;
const { proxy, client } = await nodes.get(values.node);
const page = await startPageServer({ server, nodes, first: values.node, ran: echo });
try {
  console.log(
    `An API server in memory (${upstream}), the wrapper for node ${values.node} in front of`,
  );
  console.log(`it (${proxy.url}), and a client that watches EndpointSlices as kube-proxy does.\n`);
  console.log(`The same as a page, from each node, with buttons: ${page.url}\n`);
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

/** Prints lines that may hold what others wrote. */
function print(...lines: readonly string[]): void {
  process.stdout.write(lines.map(printLine).join(''));
}

/** Waits a moment, so that what belongs together is drawn once. */
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
  // Time to read, where somebody reads.
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
      if (result.say !== '') print(...result.say.split('\n'));
      drawSoon();
    } catch (error) {
      print(error instanceof Error ? error.message : String(error));
    }
    // What follows from the command is to be seen before the next one, also when lines come from a pipe.
    await delay(200);
  }
  lines.close();
}
