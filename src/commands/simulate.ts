import type { RawSettings } from '../config/settings.ts';
import { WrapperError } from '../errors.ts';
import { type Call, EXIT } from './command.ts';
import { type Flags, numberFlag, textFlag, textFlags, UsageError } from './flags.ts';
import { readManifests } from './simulate/cluster-objects.ts';
import { type Finding, findingsOf, newFindings } from './simulate/findings.ts';
import { type Simulation, type SimulationSettings, simulate } from './simulate/simulation.ts';
import {
  readInput,
  readSettings,
  serviceFilter,
  serviceNames,
  settingsOf,
} from './simulate/simulation-input.ts';
import { differencesReport, simulationReport } from './simulate/simulation-report.ts';
import { applyChanges, parseChange } from './simulate/trial-change.ts';

/** Executes `simulate`. */
export async function executeSimulate({ flags, args, session }: Call): Promise<number> {
  const maxLoad = numberFlag(flags, 'max-load', ' (times the mean load)', 5);
  const changes = textFlags(flags, 'set').map(parseChange);
  const against = textFlags(flags, 'against');
  const settings = readBoth(flags, changes.length > 0);
  const isDiff = flags.diff === true || against.length > 0 || settings.isCompared;
  const names = serviceNames(flags, args);
  const wanted = serviceFilter(flags, names);
  const cluster = await readInput(flags, settings.trial);
  const after = simulate(applyChanges(cluster, changes), settings.trial, wanted);
  const found = findingsOf(after, maxLoad);
  if (!isDiff) {
    assertKnown(names, [after]);
    await session.print(simulationReport(after, found), flags);
    return exitCode(found);
  }
  const other = against.length === 0 ? cluster : readManifests(against, flags.recursive === true);
  const before = simulate(other, settings.base, wanted);
  assertKnown(names, [before, after]);
  const fresh = newFindings(findingsOf(before, maxLoad), found);
  await session.print(differencesReport(before, after, fresh, settings.note), flags);
  return exitCode(fresh);
}

interface BothSettings {
  /** What is compared with. */
  readonly base: SimulationSettings;
  readonly trial: SimulationSettings;
  /** Whether the flags compare settings, even without --diff. */
  readonly isCompared: boolean;
  /** What the settings are compared with, for people. */
  readonly note?: string;
}

/**
 * The settings before and after. --keys and --preset change those of --config. If nothing else is tried, --diff tells
 * what --config itself changes: it compares with the default settings.
 */
function readBoth(flags: Flags, isTrial: boolean): BothSettings {
  const defaults = trialDefaults(flags);
  const config = readSettings(flags);
  const trial = defaults === undefined ? config : readTrial(flags, defaults);
  const other = textFlag(flags, 'against-config');
  if (other !== undefined) {
    return { base: settingsOf(other), trial, isCompared: true, note: `the settings of ${other}` };
  }
  const isDiff = flags.diff === true && textFlags(flags, 'against').length === 0;
  if (!isDiff || isTrial || defaults !== undefined) {
    return { base: config, trial, isCompared: false };
  }
  if (flags.config === undefined) {
    const what = 'give --keys, --preset, --set, --config, --against or --against-config';
    throw new UsageError(`--diff has nothing to compare; ${what}`);
  }
  const note = 'the default settings (use --against-config for others)';
  return { base: settingsOf(undefined), trial, isCompared: false, note };
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

/** Throws for a Service that is not in any simulation, because it is probably misspelled. */
function assertKnown(names: readonly string[], simulations: readonly Simulation[]): void {
  const known = simulations.flatMap(({ services }) => services.map(({ service }) => service));
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new UsageError(`--service: there is no Service ${unknown} that kube-proxy watches`);
}

function exitCode(findings: readonly Finding[]): number {
  return findings.some(({ severity }) => severity === 'warning') ? EXIT.findings : EXIT.ok;
}
