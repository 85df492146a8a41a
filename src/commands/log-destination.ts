import { pino } from 'pino';
import { escapeJson } from '../untrusted-text.ts';

/** Where the log goes. */
export interface LogDestination {
  readonly stream: ReturnType<typeof pino.destination>;
  /** Lines that are lost. */
  readonly dropped: number;
}

/** What may wait to be written, in bytes; lines beyond it are lost. */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Where the log goes: to standard output, and nobody waits for it. A full disk, a reader that is gone or one that does
 * not read costs lines, and nothing else. What could not be written is tried again with the next line.
 *
 * @param fd default: that of standard output
 */
export function createLogDestination(fd = 1): LogDestination {
  const stream = pino.destination({ fd, sync: false, maxLength: MAX_WAITING_BYTES });
  // pino escapes what JSON must, which leaves C1 and bidi controls for a terminal to obey.
  const write = stream.write.bind(stream);
  stream.write = (line) => write(escapeJson(line));
  let dropped = 0;
  stream.on('drop', () => dropped++);
  let isBroken = false;
  // Without a listener it would end the process …
  stream.on('error', () => {
    isBroken = true;
  });
  stream.on('write', () => {
    isBroken = false;
  });
  // … which would then never end: at exit sonic-boom tries again and again, whatever the error.
  const flushSync = stream.flushSync.bind(stream);
  stream.flushSync = () => {
    if (!isBroken) flushSync();
  };
  return {
    stream,
    get dropped() {
      return dropped;
    },
  };
}
