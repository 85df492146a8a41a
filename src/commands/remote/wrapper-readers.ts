import type { NodeStatus } from '../../admin/status/status-line.ts';
import type { AdminClient } from '../admin-client.ts';
import { EXIT } from '../command.ts';
import { explainReport } from '../explain.ts';
import type { Flags } from '../flags.ts';
import type { Report } from '../output/report.ts';
import { serviceArgument } from '../service-argument.ts';
import { readStatus } from '../status/read-status.ts';
import { statusCode, statusReport } from '../status.ts';
import { readVersions, type Versions, versionReport } from '../version.ts';

/** What one wrapper says. */
export interface WrapperAnswer {
  readonly report: Report;
  readonly code: number;
  /** The cells of a line about it, if many wrappers are asked. */
  readonly line?: readonly string[];
}

/** Reads one kind of answer from wrappers. */
export interface WrapperReader {
  /** Header of {@link WrapperAnswer.line}. */
  readonly header?: readonly string[];
  /** Checks the command line and returns what reads from a wrapper. Throws UsageError. */
  prepare(flags: Flags, args: readonly string[]): (admin: AdminClient) => Promise<WrapperAnswer>;
}

/** How each command reads from wrappers, by the name of the command. */
export const READERS: Readonly<Record<string, WrapperReader>> = {
  explain: {
    prepare(flags, args) {
      const service = serviceArgument(args, flags);
      return async (admin) => plain(await explainReport(admin, flags, service));
    },
  },
  status: {
    header: ['VERSION', 'PROBLEMS', 'FIRST PROBLEM'],
    prepare: () => async (admin) => {
      const status = await readStatus(admin);
      return { report: statusReport(status), code: statusCode(status), line: statusLine(status) };
    },
  },
  version: {
    header: ['VERSION'],
    prepare: () => async (admin) => {
      const versions = await readVersions(admin);
      return { ...plain(versionReport(versions)), line: [versionOf(versions)] };
    },
  },
};

function plain(report: Report): WrapperAnswer {
  return { report, code: EXIT.ok };
}

function statusLine({ version, lines }: NodeStatus): string[] {
  const problems = lines.filter(({ state }) => state === 'problem');
  return [version, String(problems.length), problems[0]?.text ?? ''];
}

const OLD = 'older than 1.1';

function versionOf({ wrapper }: Versions): string {
  return wrapper?.version ?? OLD;
}
