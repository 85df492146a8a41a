import { type Flags, textFlag, UsageError } from '../flags.ts';
import { formatColumns, formatData } from '../format-output.ts';
import { csvLine } from './csv.ts';
import { parseJsonPath } from './json-path.ts';

/** What a command found, in a form that every format of -o can be made from. */
export interface Report {
  /** For json, yaml and jsonpath. */
  readonly data: unknown;
  /** For a terminal. */
  text(style: TextStyle): string;
  /** For -o name: one line each. */
  readonly names?: readonly string[];
  /** For -o csv. The first line is the header. */
  csv?(): Iterable<readonly string[]>;
  /** Remarks for standard error, if the format has no place for them. */
  readonly remarks?: string;
}

/** How a table is printed. */
export interface TextStyle {
  /** -o wide. */
  readonly wide: boolean;
  /** False: --no-headers. */
  readonly headers: boolean;
}

/** A report as text, in parts, because a table of all nodes can be long. Throws UsageError for an invalid template. */
export function* renderReport(report: Report, flags: Flags): Generator<string> {
  const output = textFlag(flags, 'output') ?? 'text';
  const headers = flags['no-headers'] !== true;
  if (output === 'json' || output === 'yaml') yield formatData(report.data, output);
  else if (output === 'name') yield* (report.names ?? []).map((name) => formatColumns([[name]]));
  else if (output === 'csv') yield* csvText(report, headers);
  else if (output.startsWith(JSON_PATH)) {
    // The template decides about line feeds, as with kubectl.
    yield parseJsonPath(output.slice(JSON_PATH.length))(plain(report.data));
  } else yield report.text({ wide: output === 'wide', headers });
}

/** Checks -o before anything is requested. */
export function assertOutput(flags: Flags): void {
  const output = textFlag(flags, 'output') ?? '';
  if (output.startsWith(JSON_PATH)) parseJsonPath(output.slice(JSON_PATH.length));
}

const JSON_PATH = 'jsonpath=';

function* csvText({ csv }: Report, headers: boolean): Generator<string> {
  if (csv === undefined) throw new UsageError('this report has no csv');
  let isHeader = true;
  for (const cells of csv()) {
    if (headers || !isHeader) yield csvLine(cells);
    isHeader = false;
  }
}

/** The value as JSON has it: without undefined, and with the result of toJSON. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Formats a table whose first line is the header. */
export function formatTable(lines: readonly (readonly string[])[], { headers }: TextStyle): string {
  return formatColumns(headers ? lines : lines.slice(1));
}
