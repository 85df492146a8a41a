import type { VersionInfo } from '../admin/version-info.ts';
import { WrapperError } from '../errors.ts';
import { printLine } from '../untrusted-text.ts';
import { VERSION } from '../version.ts';
import type { AdminClient } from './admin-client.ts';
import { type Call, EXIT } from './command.ts';
import type { Report } from './output/report.ts';

/** The versions of both sides. */
export interface Versions {
  readonly client: string;
  /** Absent: it did not answer. Empty: older than 1.1. */
  readonly wrapper?: Partial<VersionInfo>;
  /** Why it did not answer. */
  readonly error?: string;
}

/** Executes `version`. */
export async function executeVersion({ flags, session }: Call): Promise<number> {
  if (flags.client === true) {
    await session.print(versionReport({ client: VERSION }), flags);
    return EXIT.ok;
  }
  const admin = await session.openAdmin(flags);
  try {
    await session.print(versionReport(await readVersions(admin)), flags);
    return EXIT.ok;
  } catch (error) {
    const { message } = WrapperError.from(error, 'Unreachable');
    await session.print(versionReport({ client: VERSION, error: message }), flags);
    throw error;
  } finally {
    admin.close();
  }
}

/** Reads the version of a running wrapper. Throws `Unreachable`. */
export async function readVersions(admin: AdminClient): Promise<Versions> {
  try {
    return { client: VERSION, wrapper: await admin.request<VersionInfo>('/version') };
  } catch (error) {
    // Wrappers before 1.1 do not have this path.
    if (error instanceof WrapperError && error.code === 'NotFound')
      return { client: VERSION, wrapper: {} };
    throw error;
  }
}

export function versionReport(versions: Versions): Report {
  return { data: versions, text: () => formatVersions(versions) };
}

function formatVersions({ client, wrapper }: Versions): string {
  const lines = [`client   ${client}`];
  if (wrapper !== undefined) {
    const node = wrapper.node === undefined ? '' : ` on node ${wrapper.node}`;
    const version = wrapper.version ?? 'older than 1.1, it does not report its version';
    lines.push(`wrapper  ${version}${node}`);
  }
  return lines.map(printLine).join('');
}
