import type { RawSettings } from '../../config/settings.ts';
import { WrapperError } from '../../errors.ts';
import { type Call, EXIT } from '../command-line/command.ts';
import { type Flags, textFlag, textFlags, UsageError } from '../command-line/flags.ts';
import { namespaceFlag } from '../command-line/service-argument.ts';
import { type ClusterObjects, readManifests } from './cluster-objects.ts';
import { type Finding, findingsOf, newFindings } from './findings.ts';
import { isSettingsFile } from './manifest-files.ts';
import { type Simulation, type SimulationSettings, simulate } from './simulation.ts';
import {
  readInput,
  readSettings,
  serviceFilter,
  serviceNames,
  settingsOf,
} from './simulation-input.ts';
import { differencesReport, simulationReport } from './simulation-report.ts';

/** Executes `simulate`. */
export async function executeSimulate({ flags, args, session }: Call): Promise<number> {
  const names = serviceNames(flags, args);
  const wanted = serviceFilter(flags, names);
  const against = textFlags(flags, 'against');
  const compared = against.length > 0 || flags.diff === true;
  const settings = trialSettings(flags);
  const base = compared ? baseOf(flags, against) : undefined;
  const cluster = await readInput(flags, settings);
  const after = simulate(cluster, settings, wanted);
  const found = findingsOf(after);
  if (base === undefined) {
    assertKnown(flags, names, [cluster], [after]);
    await session.print(simulationReport(after, found), flags);
    return exitCode(found);
  }
  const other = base.cluster ?? cluster;
  const before = simulate(other, base.settings, wanted);
  assertKnown(flags, names, [other, cluster], [before, after]);
  const fresh = newFindings(findingsOf(before), found);
  await session.print(differencesReport(before, after, fresh, base.note), flags);
  return exitCode(fresh);
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
function baseOf(flags: Flags, against: readonly string[]): Base {
  const [file, ...more] = against;
  if (file !== undefined) {
    const note = against.join(', ');
    if (more.length === 0 && isSettingsFile(file)) {
      return { settings: settingsOf(file), note: `the settings of ${note}` };
    }
    const cluster = readManifests(against, flags.recursive === true);
    return { settings: trialSettings(flags), cluster, note };
  }
  const config = textFlag(flags, 'config');
  if (trialDefaults(flags) !== undefined) {
    const note = config === undefined ? 'the default settings' : `the settings of ${config}`;
    return { settings: readSettings(flags), note };
  }
  if (config !== undefined)
    return { settings: settingsOf(undefined), note: 'the default settings' };
  throw new UsageError(
    '--diff has nothing to compare; give --against, --keys, --preset or --config',
  );
}

/** The settings of --config, with the keys of --keys or --preset. */
function trialSettings(flags: Flags): SimulationSettings {
  const defaults = trialDefaults(flags);
  const config = readSettings(flags);
  return defaults === undefined ? config : readTrial(flags, defaults);
}

interface TrialDefaults {
  readonly flag: '--keys' | '--preset';
  readonly value: unknown;
}

/** The default keys of --keys or --preset; undefined: neither is given. */
function trialDefaults(flags: Flags): TrialDefaults | undefined {
  const keys = textFlag(flags, 'keys');
  const preset = textFlag(flags, 'preset');
  if (keys !== undefined && preset !== undefined)
    throw new UsageError('use --keys or --preset, not both');
  if (keys !== undefined) return { flag: '--keys', value: parseKeys(keys) };
  return preset === undefined ? undefined : { flag: '--preset', value: preset };
}

function readTrial(flags: Flags, { flag, value }: TrialDefaults): SimulationSettings {
  const raw: RawSettings = { defaultTopologyKeys: value };
  try {
    return readSettings(flags, raw);
  } catch (error) {
    // The settings without the keys are valid, so the error is about the keys.
    const { message } = WrapperError.from(error, 'InvalidSettings');
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

/** Throws for a Service or namespace that does not exist: it is probably misspelled, and a CI job must not be green. */
function assertKnown(
  flags: Flags,
  names: readonly string[],
  clusters: readonly ClusterObjects[],
  simulations: readonly Simulation[],
): void {
  const namespace = namespaceFlag(flags);
  const hasNamespace = ({ services, namespaces }: ClusterObjects) =>
    services.some((each) => each.namespace === namespace) ||
    namespaces.some(({ name }) => name === namespace);
  if (namespace !== undefined && !clusters.some(hasNamespace)) {
    throw new WrapperError('NotFound', `the input has no Service in namespace ${namespace}`);
  }
  const known = simulations.flatMap(({ services }) => services.map(({ service }) => service));
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new WrapperError('NotFound', `there is no Service ${unknown} that kube-proxy watches`);
}

function exitCode(findings: readonly Finding[]): number {
  return findings.some(({ severity }) => severity === 'warning') ? EXIT.findings : EXIT.ok;
}
