import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DemoFlags } from '../cli/demo/demo.ts';
import { namesOf } from '../cli/simulate/manifest-files.ts';
import { type ApiServer, createApiServer } from '../fake-apiserver/api-server.ts';
import { formatNumber } from '../src/text/numbers.ts';
import { findNode, helpOf } from './commands.ts';
import { EXAMPLE, formatIgnored, loadCluster } from './load-cluster.ts';
import { DemoNodes } from './nodes.ts';
import { openBrowser } from './open-browser.ts';
import { startPageServer } from './page-server.ts';
import { DemoSession, type SessionOptions } from './session.ts';
import { Terminal } from './terminal.ts';
import { takeTour } from './tour.ts';
import { Warnings } from './warnings.ts';

/** Time to read each step of the tour, on a terminal, in milliseconds. */
const PAUSE_MS = 2_500;
/** The node of the example that is shown first. */
const FIRST_NODE = 'edge-1';

/** Runs the demo until the user ends it, and returns the exit code. Throws if the cluster cannot be loaded. */
export async function runDemo(flags: DemoFlags): Promise<number> {
  const { cluster: clusters = [], node, once } = flags;
  const server = createApiServer();
  const terminal = new Terminal();
  const isExample = clusters.length === 0;
  if (!isExample) terminal.print(`Reading ${namesOf(clusters)} …`);
  const ignored = loadCluster(server, isExample ? [EXAMPLE] : clusters);
  const first = findNode(server, node ?? firstNode(server, isExample));
  const warnings = new Warnings(() => session.warned());
  const url = await server.listen();
  const nodes = new DemoNodes(url, warnings.logger, folderUntilExit());
  const session = new DemoSession({ server, url, nodes, terminal, warnings });
  try {
    terminal.print(`A cluster in memory: ${sizeOf(server)}. Its API server: ${url}`);
    if (ignored.size > 0) terminal.print(formatIgnored(ignored));
    terminal.print(
      'The wrapper is the real one. A client reads it as kube-proxy does, and sees:',
      '',
    );
    await session.show(first);
    if (once) {
      if (isExample) await takeTour(session, terminal, 0);
    } else {
      const demo = { server, url, nodes, terminal, warnings, session };
      await interact(demo, first, flags);
    }
    return 0;
  } finally {
    session.close();
    await nodes.close();
    await server.close();
  }
}

/** The parts of a running demo. */
interface Demo extends SessionOptions {
  readonly session: DemoSession;
}

/** Serves the page, takes the tour, and runs what the user types. */
async function interact(
  demo: Demo,
  first: string,
  { cluster: clusters = [] }: DemoFlags,
): Promise<void> {
  const { server, nodes, terminal, warnings, session } = demo;
  const page = await startPageServer({
    server,
    nodes,
    first,
    logger: warnings.logger,
    onCommand: (command) => {
      terminal.print('', `> ${command}    # from the page`);
      session.changed();
    },
  });
  try {
    terminal.print('', `The same as a page with buttons: ${page.url}`);
    if (terminal.isInteractive) openBrowser(page.url);
    if (clusters.length === 0) {
      await takeTour(session, terminal, terminal.isInteractive ? PAUSE_MS : 0);
    }
    terminal.print('', 'Your turn. Type, for example:', ...helpOf(session.names()).split('\n'), '');
    await terminal.readLines((line) => session.run(line), {
      fromTerminal: clusters.includes('-'),
      complete: (line) => session.complete(line),
    });
  } finally {
    await page.close();
  }
}

/** A temporary folder, which is removed however the process ends. */
function folderUntilExit(): string {
  const folder = mkdtempSync(join(tmpdir(), 'kube-proxy-wrapper-demo-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  // Without a listener, a signal ends the process without `exit`.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
  return folder;
}

function firstNode(server: ApiServer, isExample: boolean): string {
  return isExample ? FIRST_NODE : (server.list('nodes')[0]?.metadata.name ?? '');
}

function sizeOf(server: ApiServer): string {
  const count = (collection: 'nodes' | 'services') => formatNumber(server.list(collection).length);
  return `${count('nodes')} nodes, ${count('services')} Services`;
}
