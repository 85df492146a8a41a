import { existsSync, realpathSync } from 'node:fs';
import type { Image } from './image.ts';

/** What is run in the image's files. */
export interface SandboxOptions {
  readonly image: Image;
  /** In place of the image's CMD. */
  readonly args?: readonly string[];
  /** In place of ENTRYPOINT and CMD. */
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** In place of the image's own. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Folders of this machine, by where they are seen; read-only. */
  readonly mounts?: Readonly<Record<string, string>>;
  /** The same, and may be written to. */
  readonly writable?: Readonly<Record<string, string>>;
}

/** A command with its arguments. */
export interface SandboxCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * How a command is run as a container would run it: in mount, user, pid, ipc and uts namespaces of its own, as a
 * user that is not root (here neither: files of root that are closed to others stay so), without any capability, on
 * a root that nothing can be written to. The network is that of the caller, as with `hostNetwork`.
 */
export function sandbox(options: SandboxOptions): SandboxCommand {
  const { uid, gid } = options.user ?? options.image.user;
  const become = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs', '--'];
  return { command: 'setpriv', args: [...become, 'bwrap', ...bubblewrapArgs(options)] };
}

function bubblewrapArgs(options: SandboxOptions): string[] {
  const { image, env = {}, mounts = {}, writable = {} } = options;
  const { uid, gid } = options.user ?? image.user;
  const command = options.command ?? [...image.entrypoint, ...(options.args ?? image.cmd)];
  const args = ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts'];
  args.push('--die-with-parent', '--new-session', '--cap-drop', 'ALL');
  args.push('--uid', String(uid), '--gid', String(gid));
  // The image's files on a root of its own, which is made read-only once all is mounted.
  args.push('--tmpfs', '/', '--proc', '/proc', '--dev', '/dev');
  args.push('--ro-bind', `${image.root}/app`, '/app', '--ro-bind', `${image.root}/usr`, '/usr');
  args.push('--ro-bind', realpathSync(process.execPath), '/nodejs/bin/node');
  for (const folder of baseFolders) {
    if (existsSync(folder)) args.push('--ro-bind', folder, folder);
  }
  for (const [seenAt, folder] of Object.entries(mounts)) args.push('--ro-bind', folder, seenAt);
  for (const [seenAt, folder] of Object.entries(writable)) args.push('--bind', folder, seenAt);
  args.push('--remount-ro', '/', '--chdir', image.workdir, '--clearenv');
  for (const [name, value] of Object.entries({ ...image.env, ...env })) {
    args.push('--setenv', name, value);
  }
  return [...args, '--', ...command];
}

/** What the base image would bring: the C library and its loader, and how names are resolved. */
const baseFolders = [
  '/lib',
  '/lib64',
  '/etc/hosts',
  '/etc/resolv.conf',
  '/etc/nsswitch.conf',
  '/etc/ssl',
];
