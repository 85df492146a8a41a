import { similarService } from '../../src/admin/explain/similar-service.ts';
import { WrapperError } from '../../src/errors.ts';
import { messageOf } from '../../src/util/message-of.ts';
import { type Call, EXIT, type Result } from '../command-line/command.ts';
import type { ServiceFlags } from '../command-line/service-argument.ts';
import { UsageError } from '../command-line/usage-error.ts';
import type { ClusterObjects } from './cluster-objects.ts';
import { type Finding, findingsOf, newFindings } from './findings.ts';
import { isSettingsFile, namesOf } from './manifest-files.ts';
import { type Simulation, type SimulationSettings, simulate } from './simulation.ts';
import {
  type InputFlags,
  readFiles,
  readInput,
  serviceNames,
  servicePredicate,
  settingsOf,
} from './simulation-input.ts';
import { differencesReport, simulationReport } from './simulation-report.ts';

export interface SimulateFlags extends InputFlags, ServiceFlags {
  readonly config?: string;
  readonly keys?: string;
  readonly preset?: string;
  /** Names of Services. */
  readonly service?: readonly string[];
  readonly diff?: boolean;
  readonly against?: readonly string[];
}

/** Executes `simulate`. */
export async function executeSimulate({ flags, args }: Call<SimulateFlags>): Promise<Result> {
  const names = serviceNames(flags, args);
  const wanted = servicePredicate(flags, names);
  const compared = flags.against !== undefined || flags.diff === true;
  const settings = trialSettings(flags);
  const base = compared ? baseOf(flags) : undefined;
  const cluster = await readInput(flags, settings);
  const after = simulate(cluster, settings, wanted);
  const found = findingsOf(after);
  if (base === undefined) {
    assertKnownServices(flags, names, [cluster], [after]);
    return { code: exitCode(found), report: simulationReport(after, found) };
  }
  const other = base.cluster ?? cluster;
  const before = simulate(other, base.settings, wanted);
  assertKnownServices(flags, names, [other, cluster], [before, after]);
  const fresh = newFindings(findingsOf(before), found);
  return { code: exitCode(fresh), report: differencesReport(before, after, fresh, base.note) };
}

/** What --diff compares with. */
interface Base {
  readonly settings: SimulationSettings;
  /** Absent: the same objects. */
  readonly cluster?: ClusterObjects;
  /** What it is, for people. */
  readonly note: string;
}

/**
 * --against names manifests or settings. Without it, --keys and --preset are compared with --config alone, and --config
 * with the default settings. Throws UsageError.
 */
function baseOf(flags: SimulateFlags): Base {
  const { against, config, keys, preset, recursive } = flags;
  if (against !== undefined) {
    const note = namesOf(against);
    const comparesSettings = config !== undefined && against.length === 1;
    const file = against.find((path) => isSettingsFile(path, comparesSettings));
    if (file === undefined) {
      const cluster = readFiles('--against', against, recursive);
      return { settings: trialSettings(flags), cluster, note };
    }
    if (against.length === 1) {
      return { settings: settingsOf(file), note: `the settings of ${note}` };
    }
    throw new UsageError(`--against: ${file} has settings; give it alone, or only manifests`);
  }
  const isTrial = keys !== undefined || preset !== undefined;
  if (isTrial && config !== undefined) {
    return { settings: settingsOf(config), note: `the settings of ${config}` };
  }
  if (isTrial || config !== undefined)
    return { settings: settingsOf(undefined), note: 'the default settings' };
  throw new UsageError(
    '--diff has nothing to compare; give --against, --keys, --preset or --config',
  );
}

/** The settings of --config, with the keys of --keys or --preset. */
function trialSettings({ config, keys, preset }: SimulateFlags): SimulationSettings {
  const settings = settingsOf(config);
  if (keys === undefined && preset === undefined) return settings;
  const defaultTopologyKeys = keys === undefined ? preset : parseKeys(keys);
  try {
    return settingsOf(config, { defaultTopologyKeys });
  } catch (error) {
    // The settings without the keys are valid, so the error is about the keys.
    const flag = keys === undefined ? '--preset' : '--keys';
    throw new UsageError(messageOf(error).replace(/^.*defaultTopologyKeys/, flag));
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

/**
 * Throws for a Service or namespace that does not exist, and for a selector that matches nothing: it is probably
 * misspelt, and a CI job must not be green.
 */
function assertKnownServices(
  { namespace, selector }: ServiceFlags,
  names: readonly string[],
  clusters: readonly ClusterObjects[],
  simulations: readonly Simulation[],
): void {
  const hasNamespace = ({ services, namespaces }: ClusterObjects) =>
    services.some((each) => each.namespace === namespace) ||
    namespaces.some(({ name }) => name === namespace);
  if (namespace !== undefined && !clusters.some(hasNamespace)) {
    throw new WrapperError('NotFound', `the input has no Service in namespace ${namespace}`);
  }
  const known = simulations.flatMap(({ services }) => services.map(({ service }) => service));
  const isEmpty = selector !== undefined && known.length === 0;
  const unknown =
    names.find((name) => !known.includes(name)) ?? (isEmpty ? `with ${selector}` : undefined);
  if (unknown === undefined) return;
  const all = clusters.flatMap(({ services }) =>
    services.map((each) => `${each.namespace}/${each.name}`),
  );
  const meant = similarService(unknown, all);
  const what = `there is no Service ${unknown} that kube-proxy watches`;
  throw new WrapperError('NotFound', meant === '' ? what : `${what}.${meant}`);
}

function exitCode(findings: readonly Finding[]): number {
  return findings.some(({ severity }) => severity === 'warning') ? EXIT.findings : EXIT.ok;
}
