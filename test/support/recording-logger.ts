import { type Logger, pino } from 'pino';

/** A line of a log, parsed. */
export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A logger that keeps its lines. */
export function recordingLogger(): { readonly logger: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as LogLine);
  return { logger: pino({ level: 'debug' }, { write }), lines };
}
