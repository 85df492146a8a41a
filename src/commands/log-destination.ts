import { pino } from 'pino';

/** What may wait to be written, in bytes; lines beyond it are lost. */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Where the log goes: to standard output, and nobody waits for it. A full disk, a reader that is gone or one that does
 * not read costs lines, and nothing else. What could not be written is tried again with the next line.
 *
 * @param fd default: that of standard output
 */
export function createLogDestination(fd = 1): ReturnType<typeof pino.destination> {
  const destination = pino.destination({ fd, sync: false, maxLength: MAX_WAITING_BYTES });
  let isBroken = false;
  // Without a listener it would end the process …
  destination.on('error', () => {
    isBroken = true;
  });
  destination.on('write', () => {
    isBroken = false;
  });
  // … which would then never end: at exit sonic-boom tries again and again, whatever the error.
  const flushSync = destination.flushSync.bind(destination);
  destination.flushSync = () => {
    if (!isBroken) flushSync();
  };
  return destination;
}
