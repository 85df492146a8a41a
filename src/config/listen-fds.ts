import { WrapperError } from '../errors.ts';

/** The doors that can be handed over, by the name of their setting. */
export type ListenerName = 'listen' | 'https' | 'adminListen';

/** What FileDescriptorName= of a systemd socket unit may say. */
const NAMES: ReadonlyMap<string, ListenerName> = new Map([
  ['http', 'listen'],
  ['https', 'https'],
  ['admin', 'adminListen'],
]);
/** The first one that is passed (sd_listen_fds(3)). */
const FIRST_FD = 3;

/**
 * The listening sockets that systemd has passed to this process (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES), and
 * takes them out of the environment, so that no child takes them for its own. A single one without a name
 * is the http door. Throws `InvalidSettings` for names that say nothing, or the same twice.
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
        `of the sockets in LISTEN_FDS each needs a FileDescriptorName of its own: http, https or admin; ` +
          `these are ${JSON.stringify(LISTEN_FDNAMES ?? '')}`,
      );
    }
    fds.set(name, FIRST_FD + index);
  }
  return fds;
}
