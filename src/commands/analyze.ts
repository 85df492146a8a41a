import { type AnalyzedKind, analysisReport, analyzeFindings } from './analyze/analysis.ts';
import { type Call, EXIT } from './command.ts';
import { choiceFlag } from './flags.ts';
import { findingsOf } from './simulate/findings.ts';
import { simulate } from './simulate/simulation.ts';
import { readInput, readSettings, serviceFilter } from './simulate/simulation-input.ts';

/** Executes `analyze`. */
export async function executeAnalyze({ flags, session }: Call): Promise<number> {
  const failOn = choiceFlag(flags, 'fail-on', ['warning', 'error', 'none']);
  const wanted = serviceFilter(flags);
  const settings = readSettings(flags);
  const cluster = await readInput(flags, settings);
  const simulation = simulate(cluster, settings, wanted);
  const kinds = analyzeFindings(findingsOf(simulation));
  await session.print(analysisReport(simulation, kinds), flags);
  return exitCode(kinds, failOn);
}

function exitCode(kinds: readonly AnalyzedKind[], failOn: 'warning' | 'error' | 'none'): number {
  const has = (severity: AnalyzedKind['severity']) =>
    kinds.some((each) => each.severity === severity);
  if (failOn !== 'none' && has('error')) return EXIT.errors;
  return failOn === 'warning' && has('warning') ? EXIT.findings : EXIT.ok;
}
