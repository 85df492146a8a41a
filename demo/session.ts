import { formatExplained } from '../cli/node/explain-text.ts';
import type { ApiServer } from '../fake-apiserver/api-server.ts';
import type { KubeObject } from '../fake-apiserver/kube-object.ts';
import { explainOne } from '../src/admin/explain/explained-service.ts';
import { openViewToExplain } from '../src/admin/explain/open-view.ts';
import { shortKey } from '../src/diagnosis/explain/short-key.ts';
import { readCollections } from '../src/diagnosis/reading/collections.ts';
import { dataAge } from '../src/diagnosis/reading/data-age.ts';
import type { NodeProxy } from '../src/server/node-proxy.ts';
import { changedServices, type Row } from './changes.ts';
import {
  type ExampleNames,
  findNode,
  findService,
  helpOf,
  parseLine,
  runChange,
  TERMINAL,
} from './commands.ts';
import type { DemoNode, DemoNodes } from './nodes.ts';
import { rowsOf } from './rows.ts';
import { Settling } from './settling.ts';
import { formatChanges, formatCount, formatDifference, formatServices, LEGEND } from './table.ts';
import type { Terminal } from './terminal.ts';
import type { Warnings } from './warnings.ts';

export interface SessionOptions {
  readonly server: ApiServer;
  /** Where it listens. */
  readonly url: string;
  readonly nodes: DemoNodes;
  readonly terminal: Terminal;
  readonly warnings: Warnings;
}

/** What the terminal shows: one node, its table, and what changes in it. */
export class DemoSession {
  readonly #options: SessionOptions;
  readonly #settling: Settling;
  /** The node that is shown; undefined: none yet. */
  #shown: { readonly name: string; readonly node: DemoNode; rows: readonly Row[] } | undefined;
  /** The EndpointSlices when the API server failed: all that a node can know. Undefined: it works. */
  #known: readonly KubeObject[] | undefined;
  #legend: string | undefined = LEGEND;
  /** Whether the user waits for an effect, so that no effect is printed too. */
  #isAwaited = false;
  readonly #onEvents = () => this.#settling.event();

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#settling = new Settling({
      isBusy: () => this.#isBusy(),
      draw: () => this.#drawChanges(),
    });
  }

  /** The user has changed something. What really changes on this node is printed a moment later. */
  changed(): void {
    this.#isAwaited = true;
    this.#settling.event();
  }

  /** A warning was logged. It is printed a moment later. */
  warned(): void {
    this.#settling.event();
  }

  /** Shows a node, whose first list is complete. */
  async show(name: string): Promise<void> {
    await this.#follow(name, []);
    if (this.#shown !== undefined) this.#shown.rows = this.#read();
    this.#drawAll();
  }

  /** Runs a line, and waits until its effect is printed. Returns false for `quit`. Never rejects. */
  async run(line: string): Promise<boolean> {
    const { terminal } = this.#options;
    const { verb, subject } = parseLine(line);
    try {
      if (verb === 'quit' || verb === 'exit') return false;
      if (verb === 'help' || verb === '?') terminal.print(...helpOf(this.names()).split('\n'));
      else if (verb === 'show' && subject === '') this.#drawAll();
      else if (verb === 'show') this.#drawService(findService(this.#options.server, subject));
      else if (verb === 'explain') await this.#explain(subject);
      else if (verb === 'node') await this.show(findNode(this.#options.server, subject));
      else if (verb === 'outage') await this.#fail();
      else if (verb === 'recover') await this.#recover();
      else if (verb === 'reboot') await this.#reboot();
      else if (verb !== '') await this.#change(line);
    } catch (error) {
      terminal.print(`! ${error instanceof Error ? error.message : String(error)}`);
    }
    return true;
  }

  close(): void {
    this.#settling.close();
  }

  /** Words that complete a line. */
  complete(line: string): string[] {
    const { server } = this.#options;
    const words = line.split(' ');
    const last = words.at(-1) ?? '';
    if (words.length === 1) {
      const verbs = ['label', 'annotate', 'ready', 'notready', ...TERMINAL];
      return verbs.filter((verb) => verb.startsWith(last));
    }
    if (words.length > 2) return [];
    const isNode = ['label', 'node'].includes(words[0] ?? '');
    const names = server
      .list(isNode ? 'nodes' : 'services')
      .map(({ metadata: { namespace, name } }) => (isNode ? name : `${namespace}/${name}`));
    return names.filter((name) => name.startsWith(last)).slice(0, 100);
  }

  /** Names for examples: a Service with several endpoints. */
  names(): ExampleNames {
    const { name = '', rows = [] } = this.#shown ?? {};
    const services = Map.groupBy(rows, ({ service }) => service);
    const several = [...services.values()].filter((each) => each.length > 1);
    const row = (several.find(([first]) => first?.service === 'default/web') ?? several[0])?.[0];
    const service = row?.service ?? rows[0]?.service ?? 'web';
    const nodes = this.#options.server.list('nodes').map(({ metadata }) => metadata.name);
    return {
      node: name,
      otherNode: nodes.find((each) => each !== name) ?? name,
      service: service.replace(/^default\//, ''),
      address: row?.address ?? rows[0]?.address ?? '10.0.0.1',
    };
  }

  async #change(line: string): Promise<void> {
    await this.#done(runChange(this.#options.server, line));
  }

  /** @param rows what was printed last */
  async #follow(name: string, rows: readonly Row[]): Promise<void> {
    const node = await this.#options.nodes.get(name);
    this.#shown = { name, node, rows };
    node.client.subscribe(this.#onEvents);
  }

  /** Prints what has been done, and a moment later its effect on this node. */
  async #done(text: string): Promise<void> {
    this.#options.terminal.print(text);
    this.changed();
    await this.#settling.settled();
  }

  async #fail(): Promise<void> {
    const { server } = this.#options;
    if (this.#known !== undefined) throw new Error('the API server has failed already; recover');
    this.#known = server.list('endpointslices');
    await server.close();
    await this.#done('the API server does not answer any more');
  }

  async #recover(): Promise<void> {
    const { server, url } = this.#options;
    if (this.#known === undefined) throw new Error('the API server works; outage lets it fail');
    const { hostname, port } = new URL(url);
    await server.listen(Number(port), hostname);
    this.#known = undefined;
    await this.#done('the API server answers again');
  }

  async #reboot(): Promise<void> {
    await this.#options.nodes.reboot();
    if (this.#shown !== undefined) await this.#follow(this.#shown.name, this.#shown.rows);
    await this.#done('all nodes have started again');
  }

  async #explain(subject: string): Promise<void> {
    const { server, terminal } = this.#options;
    const service = findService(server, subject);
    if (this.#shown === undefined) return;
    const { proxy } = this.#shown.node;
    await openViewToExplain(proxy, new AbortController().signal);
    terminal.printText(formatExplained(await explainOne(proxy, service)));
  }

  /** Whether the wrapper still reads nodes that a policy needs, or has not connected again. */
  #isBusy(): boolean {
    if (this.#shown === undefined) return false;
    const { proxy } = this.#shown.node;
    const sets = [...proxy.topology.nodeSets.values()];
    const isReading = sets.some(({ needed, state }) => needed && state === 'syncing');
    return isReading || (this.#known === undefined && !isConnected(proxy));
  }

  #read(): Row[] {
    if (this.#shown === undefined) return [];
    const { proxy, client } = this.#shown.node;
    const slices = this.#known ?? this.#options.server.list('endpointslices');
    return rowsOf(slices, proxy.topology, client.shown);
  }

  /** `edge-1 (site=a)`, with the labels that tell places apart. */
  #title(): string {
    const { name = '', node } = this.#shown ?? {};
    const labels = [...(node?.proxy.topology.nodeContext?.labels ?? [])]
      .filter(([key]) => !USUAL_LABEL.test(key))
      .slice(0, 6)
      .map(([key, value]) => (value === '' ? shortKey(key) : `${shortKey(key)}=${value}`));
    return `${name}${labels.length === 0 ? '' : ` (${labels.join(', ')})`}`;
  }

  #drawAll(): void {
    const rows = this.#shown?.rows ?? [];
    const { terminal, warnings } = this.#options;
    terminal.print(`${this.#title()}: ${formatCount(rows)} to kube-proxy`);
    terminal.printTable(formatServices(rows));
    terminal.print(...warnings.take());
  }

  #drawService(service: string): void {
    const rows = (this.#shown?.rows ?? []).filter((row) => row.service === service);
    const { terminal } = this.#options;
    if (rows.length === 0) terminal.print(`${service} has no endpoints that kube-proxy reads`);
    else terminal.printTable(formatServices(rows));
  }

  #drawChanges(): void {
    if (this.#shown === undefined) return;
    const { terminal, warnings } = this.#options;
    const rows = this.#read();
    const changed = changedServices(this.#shown.rows, rows);
    this.#shown.rows = rows;
    terminal.print(...warnings.take());
    const isAwaited = this.#isAwaited;
    this.#isAwaited = false;
    if (changed.length === 0) {
      if (isAwaited) terminal.print(`${this.#title()}: nothing has changed for this node`);
      return;
    }
    const services = new Set(rows.map(({ service }) => service)).size;
    const difference = formatDifference(changed, services);
    terminal.print(`${this.#title()}: ${formatCount(rows)}, ${difference}`);
    terminal.printTable(formatChanges(changed));
    if (this.#legend !== undefined) terminal.print(this.#legend);
    this.#legend = undefined;
  }
}

function isConnected(proxy: NodeProxy): boolean {
  const { state } = dataAge(readCollections(proxy), proxy.upstream);
  return state === 'connected' || state === 'quiet';
}

/** Labels that every node has. */
const USUAL_LABEL = /^(beta\.|node\.)?kubernetes\.io\/|^node-role\.kubernetes\.io\//;
