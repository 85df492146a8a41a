import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { nodeProxyOptions } from '../config/node-proxy-options.ts';
import { loadSettings, type RawSettings } from '../config/settings.ts';
import { WrapperError } from '../errors.ts';
import {
  type Command,
  choiceFlag,
  EXIT,
  type Flags,
  textFlag,
  textFlags,
  UsageError,
} from './command.ts';
import { formatData } from './format-output.ts';
import { type ClusterObjects, readManifests } from './simulate/cluster-objects.ts';
import { compare, formatDifferences } from './simulate/compare.ts';
import { type Finding, findingsOf, formatFinding, newFindings } from './simulate/findings.ts';
import { csvLines, formatMatrix, formatService, matrixData } from './simulate/matrix.ts';
import { readCluster } from './simulate/read-cluster.ts';
import { type Simulation, type SimulationSettings, simulate } from './simulate/simulation.ts';
import { applyChanges, parseChange } from './simulate/trial-change.ts';
import { HELP, OPTIONS } from './simulate/usage.ts';

/** `kube-proxy-wrapper simulate`. */
export const simulateCommand: Command = {
  summary: 'show what every node would see, before a rollout',
  help: HELP,
  options: OPTIONS,
  maxArguments: 0,
  async execute(flags) {
    const format = choiceFlag(flags, 'output', ['text', 'json', 'csv']);
    const maxLoad = readMaxLoad(flags);
    const changes = textFlags(flags, 'set').map(parseChange);
    const against = textFlags(flags, 'against');
    const settings = { base: readSettings(flags, false), trial: readSettings(flags, true) };
    const cluster = await read(flags, settings.trial);
    const names = serviceNames(flags);
    const wanted = (service: string) => names.length === 0 || names.includes(service);
    const after = simulate(applyChanges(cluster, changes), settings.trial, wanted);
    const found = findingsOf(after, maxLoad);
    if (flags.diff !== true && against.length === 0) {
      assertKnown(names, [after]);
      await print(format, after, found);
      return exitCode(found);
    }
    const other = against.length === 0 ? cluster : readManifests(against);
    const before = simulate(other, settings.base, wanted);
    assertKnown(names, [before, after]);
    const fresh = newFindings(findingsOf(before, maxLoad), found);
    printDiff(format, before, after, fresh);
    return exitCode(fresh);
  },
};

function readMaxLoad(flags: Flags): number {
  const text = textFlag(flags, 'max-load') ?? '5';
  const value = Number(text);
  if (text.trim() !== '' && value >= 0) return value;
  throw new UsageError(
    `--max-load must be a number (times the mean load), not ${JSON.stringify(text)}`,
  );
}

/** @param isTrial whether --keys or --preset replaces the default keys of the settings */
function readSettings(flags: Flags, isTrial: boolean): SimulationSettings {
  const keys = textFlag(flags, 'keys');
  const preset = textFlag(flags, 'preset');
  if (keys !== undefined && preset !== undefined)
    throw new UsageError('use --keys or --preset, not both');
  const choice = keys === undefined ? preset : parseKeys(keys);
  const file = textFlag(flags, 'config');
  const load = (raw: RawSettings) =>
    nodeProxyOptions(loadSettings({ nodeName: 'any', ...raw }, {}, file));
  const settings = load({});
  if (!isTrial || choice === undefined) return settings;
  try {
    return load({ defaultTopologyKeys: choice });
  } catch (error) {
    // The settings without the keys are valid, so the error is about the keys.
    const { message } = WrapperError.from(error, 'InvalidSettings');
    const flag = keys === undefined ? '--preset' : '--keys';
    throw new UsageError(message.replace(/^.*defaultTopologyKeys/, flag));
  }
}

function parseKeys(text: string): unknown {
  if (!text.trim().startsWith('[')) return text.split(',').map((key) => key.trim());
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(
      `--keys must be a JSON array or a list with commas, not ${JSON.stringify(text)}`,
    );
  }
}

async function read(flags: Flags, settings: SimulationSettings): Promise<ClusterObjects> {
  const files = textFlags(flags, 'from');
  const kubeconfig = textFlag(flags, 'kubeconfig');
  if ((files.length === 0) === (kubeconfig === undefined)) {
    throw new UsageError('give --from FILE or --kubeconfig FILE; see simulate --help');
  }
  const { namespacePolicies: namespaces, fabedgeCluster } = settings;
  const cluster =
    kubeconfig === undefined
      ? readManifests(files)
      : await readCluster(kubeconfig, { namespaces, communities: fabedgeCluster !== undefined });
  if (cluster.nodes.length > 0) return cluster;
  throw new UsageError('the input contains no Nodes, so there is nothing to simulate');
}

function serviceNames(flags: Flags): string[] {
  return textFlags(flags, 'service').map((name) => (name.includes('/') ? name : `default/${name}`));
}

/** Throws for a Service that is not in any simulation, because it is probably misspelled. */
function assertKnown(names: readonly string[], simulations: readonly Simulation[]): void {
  const known = simulations.flatMap(({ services }) => services.map(({ service }) => service));
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new UsageError(`--service: there is no Service ${unknown} that kube-proxy watches`);
}

async function print(
  format: 'text' | 'json' | 'csv',
  simulation: Simulation,
  findings: readonly Finding[],
): Promise<void> {
  if (format === 'json') {
    const data = { nodes: simulation.nodes, services: matrixData(simulation), findings };
    process.stdout.write(formatData(data, 'json'));
  } else if (format === 'csv') {
    await pipeline(Readable.from(csvLines(simulation)), process.stdout, { end: false });
    process.stderr.write(formatFindings(findings));
  } else {
    const [only, ...others] = simulation.services;
    const one = only !== undefined && others.length === 0;
    const text = one ? formatService(only, simulation.nodes) : formatMatrix(simulation);
    process.stdout.write(`${text}${formatFindings(findings)}`);
  }
}

function printDiff(
  format: 'text' | 'json' | 'csv',
  before: Simulation,
  after: Simulation,
  findings: readonly Finding[],
): void {
  const differences = compare(before, after);
  if (format === 'json') process.stdout.write(formatData({ differences, findings }, 'json'));
  else if (format === 'csv')
    throw new UsageError('the output of --diff and --against must be text or json');
  else process.stdout.write(`${formatDifferences(differences)}${formatFindings(findings)}`);
}

function formatFindings(findings: readonly Finding[]): string {
  if (findings.length === 0) return '';
  return `\n${findings.map(formatFinding).join('')}`;
}

function exitCode(findings: readonly Finding[]): number {
  return findings.some(({ severity }) => severity === 'warning') ? EXIT.findings : EXIT.ok;
}
