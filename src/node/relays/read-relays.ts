import type { SnapshotFolder } from '../../client/snapshot/snapshot-folder.ts';
import type { RelaysOptions } from '../../client/upstream/relays.ts';
import { type Address, addressText } from '../../util/address.ts';
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

/** Reads the relays of the settings, or those that their Service had last. Never rejects. */
export async function readRelays(
  { service, servers = [], caFile }: RelaySettings,
  snapshots: SnapshotFolder | undefined,
  bootId: string,
): Promise<FirstRelays> {
  if (service === undefined) return { servers, caFile };
  const remembered = snapshots && new RememberedRelays(snapshots, service, bootId);
  const { addresses = [], isOfThisBoot = false } = (await remembered?.read()) ?? {};
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
