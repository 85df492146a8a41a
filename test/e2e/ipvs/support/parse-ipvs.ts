/** A real server of a virtual server, as `ipvsadm -Ln` shows it. */
interface RealServer {
  /** `ip:port`. */
  readonly endpoint: string;
  /** 0: it gets no new connections; kube-proxy keeps it until those that it has are over. */
  readonly weight: number;
}

/** A virtual server, as `ipvsadm -Ln` shows it. */
export interface VirtualServer {
  /** Such as `TCP 10.96.0.1:80`. */
  readonly name: string;
  readonly scheduler: string;
  readonly realServers: readonly RealServer[];
}

const virtualLine = /^(TCP|UDP|SCTP) {1,2}(\S+:\d+) (\S+)/;
const realLine = /^ {2}-> (\S+) +\S+ +(\d+) +\d+ +\d+ *$/;
const headLines = 3;

/**
 * Parses all that `ipvsadm -Ln` prints. Throws at a line that it does not understand, such as a virtual server by
 * firewall mark, which kube-proxy never makes.
 */
export function parseIpvs(text: string): VirtualServer[] {
  const table: (VirtualServer & { realServers: RealServer[] })[] = [];
  for (const line of text.split('\n').slice(headLines)) {
    if (line === '') continue;
    const [, endpoint = '', weight] = realLine.exec(line) ?? [];
    const [, protocol, address, scheduler = ''] = virtualLine.exec(line) ?? [];
    const last = table.at(-1);
    if (weight !== undefined && last !== undefined) {
      last.realServers.push({ endpoint, weight: Number(weight) });
    } else if (protocol !== undefined) {
      table.push({ name: `${protocol} ${address}`, scheduler, realServers: [] });
    } else {
      throw new Error(`ipvsadm printed a line that is not understood: ${line}`);
    }
  }
  return table;
}

/** Where new connections go: by virtual server the sorted endpoints of its real servers, without those of weight 0. */
export function backendsOfIpvs(table: readonly VirtualServer[]): Map<string, string[]> {
  return new Map(
    table.map(({ name, realServers }) => {
      const usable = realServers.filter(({ weight }) => weight > 0);
      return [name, usable.map(({ endpoint }) => endpoint).sort()] as const;
    }),
  );
}

/** The addresses in what `ip -json address show dev <device>` prints, sorted. */
export function parseAddresses(json: string): string[] {
  const devices = JSON.parse(json) as { addr_info?: { local: string }[] }[];
  return devices.flatMap(({ addr_info = [] }) => addr_info.map(({ local }) => local)).sort();
}
