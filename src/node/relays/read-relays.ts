import type { Logger } from 'pino';
import { LOAD_MS, type SnapshotFolder } from '../../client/snapshot/snapshot-folder.ts';
import type { RelaysOptions } from '../../client/upstream/relays.ts';
import { type Address, addressText } from '../../util/address.ts';
import { withTimeout } from '../../util/with-timeout.ts';
import { RememberedRelays } from './remembered-relays.ts';

/** Relays of this site: their URLs, or the Service that has them as endpoints. */
export interface RelaySettings {
  readonly servers?: readonly URL[] | undefined;
  /** `namespace/name`. */
  readonly service?: string | undefined;
  /** See RelaysOptions. */
  readonly caFile: string;
}

/** The relays that are tried first, and where they are remembered. */
export interface FirstRelays extends RelaysOptions {
  /** Undefined: nothing is kept on disk, or the settings have URLs. */
  readonly remembered?: RememberedRelays | undefined;
  /** Whether another process has used them since the machine booted, so that they boot no longer. */
  readonly haveBooted?: boolean;
}

/** Where the relays are remembered. */
export interface RelayMemory {
  readonly snapshots: SnapshotFolder | undefined;
  readonly bootId: string;
  /** How long a slow disk is waited for, in milliseconds; default 2,000. */
  readonly waitMs?: number | undefined;
  readonly logger: Logger;
}

/**
 * Reads the relays of the settings, or those that their Service had last. Never rejects. Those that a slow disk has
 * later are used then, see {@link RelayFinder}: a disk may never answer, and the API server has the rules too.
 */
export async function readRelays(
  { service, servers = [], caFile }: RelaySettings,
  { snapshots, bootId, waitMs = LOAD_MS, logger }: RelayMemory,
): Promise<FirstRelays> {
  if (service === undefined) return { servers, caFile };
  const onSlow = (): void =>
    logger.warn(
      { service },
      'the disk is slow: API servers are used until the last relays are read; check the disk of stateDir',
    );
  const remembered = snapshots && new RememberedRelays(snapshots, service, bootId, onSlow);
  // Late is no error.
  const read = remembered && withTimeout(waitMs, remembered.read).catch(() => undefined);
  const { addresses = [], isOfThisBoot = false } = (await read) ?? {};
  const [namespace, name] = service.split('/');
  const servername = `${name}.${namespace}.svc`;
  return {
    servers: addresses.map(relayUrl),
    servername,
    caFile,
    remembered,
    haveBooted: isOfThisBoot,
  };
}

export function relayUrl(address: Address): URL {
  return new URL(`https://${addressText(address)}`);
}
