import { type Logger, pino } from 'pino';

/** A logger that keeps its lines for the test. */
export function captureLogger(): { readonly logger: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    logger: pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) }),
  };
}
