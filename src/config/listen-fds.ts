import { WrapperError } from '../errors.ts';

/** A listener whose socket systemd can pass to this process: the name of its setting. */
export type ListenerName = 'listen' | 'https' | 'adminListen';

/** Values of FileDescriptorName= in a systemd socket unit. */
const NAMES: ReadonlyMap<string, ListenerName> = new Map([
  ['http', 'listen'],
  ['https', 'https'],
  ['admin', 'adminListen'],
]);
/** The first descriptor that systemd passes (sd_listen_fds(3)). */
const FIRST_FD = 3;

/**
 * Returns the listening sockets that systemd has passed to this process (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES).
 * Removes these variables from the environment, so that no child process uses them. A single socket without a
 * name belongs to the http listener. Throws `InvalidSettings` for an unknown or repeated name.
 */
export function takeListenFds(env: NodeJS.ProcessEnv, pid: number): Map<ListenerName, number> {
  const { LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES } = env;
  delete env.LISTEN_PID;
  delete env.LISTEN_FDS;
  delete env.LISTEN_FDNAMES;
  const count = Number(LISTEN_FDS);
  const fds = new Map<ListenerName, number>();
  if (LISTEN_PID !== String(pid) || !Number.isInteger(count) || count < 1) return fds;
  const names = LISTEN_FDNAMES?.split(':') ?? [];
  for (let index = 0; index < count; index++) {
    const name = NAMES.get(names[index] ?? '') ?? (count === 1 ? 'listen' : undefined);
    if (name === undefined || fds.has(name)) {
      throw new WrapperError(
        'InvalidSettings',
        `each socket in LISTEN_FDS needs its own FileDescriptorName: http, https or admin; ` +
          `LISTEN_FDNAMES is ${JSON.stringify(LISTEN_FDNAMES ?? '')}`,
      );
    }
    fds.set(name, FIRST_FD + index);
  }
  return fds;
}
