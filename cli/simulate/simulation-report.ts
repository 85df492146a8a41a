import { printLine } from '../../src/text/untrusted-text.ts';
import { formatProblemsOfServices } from '../output/format-problems.ts';
import type { Report } from '../output/report.ts';
import { compare, formatDifferences } from './compare.ts';
import type { Finding } from './findings.ts';
import { formatMatrix, formatService, hintsNote, matrixData } from './matrix.ts';
import type { Simulation } from './simulation.ts';

/** What every node would see, and what is wrong with it. */
export function simulationReport(simulation: Simulation, findings: readonly Finding[]): Report {
  const { services, nodes } = simulation;
  const remarks = formatProblemsOfServices(findings);
  return {
    data: { nodes, services: matrixData(simulation), findings },
    text(style) {
      const [only, ...others] = services;
      const one = only !== undefined && others.length === 0;
      const text = one ? formatService(only, nodes, style) : formatMatrix(simulation, style);
      return `${text}${hintsNote(services)}${remarks === '' ? '' : `\n${remarks}`}`;
    },
  };
}

/** What changes between two simulations, and which findings are new. @param note what is compared with */
export function differencesReport(
  before: Simulation,
  after: Simulation,
  findings: readonly Finding[],
  note: string,
): Report {
  const differences = compare(before, after);
  const title = printLine(`compared with ${note}:`);
  const remarks = formatProblemsOfServices(findings);
  return {
    data: { differences, findings },
    text: (style) =>
      `${title}\n${formatDifferences(differences, style)}${remarks === '' ? '' : `\n${remarks}`}`,
  };
}
