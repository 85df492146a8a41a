import { pino } from 'pino';
import { escapeJson, escapeUntrusted } from '../text/untrusted-text.ts';

/** Destination of the log. */
export interface LogDestination {
  readonly stream: ReturnType<typeof pino.destination>;
  /** Number of lost lines. */
  readonly dropped: number;
}

/** Size of the buffer in bytes. Lines that do not fit are lost. */
const MAX_BUFFERED_LOG_BYTES = 1024 * 1024;

/** Maximum length of a line. Clients, tenants and servers write parts of many lines. */
const MAX_LOG_LINE = 16 * 1024;
/** Maximum length of each text in a line that would be longer. */
const MAX_TEXT = 1_024;

/** Options of pino: the level as a word, and the time in RFC 3339. */
export const LOG_OPTIONS = {
  formatters: { level: (level: string) => ({ level }) },
  timestamp: pino.stdTimeFunctions.isoTime,
} as const;

/**
 * Writes the log to standard output without waiting. A full disk, a closed pipe or a slow reader only costs lines.
 * A failed write is tried again with the next line.
 *
 * @param fd default: standard output
 */
export function createLogDestination(fd = 1): LogDestination {
  const stream = pino.destination({ fd, sync: false, maxLength: MAX_BUFFERED_LOG_BYTES });
  const write = stream.write.bind(stream);
  let dropped = 0;
  stream.on('drop', () => dropped++);
  let isBroken = false;
  // Without this listener an error would end the process.
  stream.on('error', () => {
    isBroken = true;
  });
  stream.on('write', () => {
    isBroken = false;
  });
  // At exit sonic-boom would repeat a failing write forever, whatever the error.
  const flushSync = stream.flushSync.bind(stream);
  stream.flushSync = () => {
    if (!isBroken) flushSync();
  };
  stream.write = (line) => write(boundedLine(line));
  return {
    stream,
    get dropped() {
      return dropped;
    },
  };
}

/** Escapes a line, and cuts its texts if it is too long. A line that is still too long keeps only its message. */
function boundedLine(line: string): string {
  // pino escapes only what JSON requires. C1 and bidi controls would still affect a terminal.
  const escaped = escapeJson(line);
  if (escaped.length <= MAX_LOG_LINE) return escaped;
  const fields = JSON.parse(line, (_key, value) =>
    typeof value === 'string' && value.length > MAX_TEXT ? escapeUntrusted(value, MAX_TEXT) : value,
  );
  const cut = `${escapeJson(JSON.stringify(fields))}\n`;
  if (cut.length <= MAX_LOG_LINE) return cut;
  const { level, time, node, msg } = fields;
  return `${escapeJson(JSON.stringify({ level, time, node, msg, omittedCharacters: line.length }))}\n`;
}
