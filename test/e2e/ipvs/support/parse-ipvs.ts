/** A real server of a virtual server, as `ipvsadm -Ln` shows it. */
export interface RealServer {
  /** `ip:port`, an IPv6 address in brackets. */
  readonly endpoint: string;
  readonly forward: string;
  /** 0: it gets no new connections; kube-proxy keeps it until those that it has are over. */
  readonly weight: number;
  readonly activeConnections: number;
  readonly inactiveConnections: number;
}

/** A virtual server, as `ipvsadm -Ln` shows it. */
export interface VirtualServer {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  /** Without brackets. */
  readonly address: string;
  readonly port: number;
  readonly scheduler: string;
  /** The text after the scheduler, such as `persistent 10800`. */
  readonly flags: string;
  readonly realServers: readonly RealServer[];
}

const virtualLine = /^(TCP|UDP|SCTP) {1,2}(\S+):(\d+) (\S+) ?(.*)$/;
const realLine = /^ {2}-> (\S+) +(\S+) +(\d+) +(\d+) +(\d+) *$/;
const headLines = 3;

/**
 * Parses all that `ipvsadm -Ln` prints. Throws at a line that it does not understand, such as a virtual server by
 * firewall mark, which kube-proxy never makes.
 */
export function parseIpvs(text: string): VirtualServer[] {
  const lines = text.split('\n').slice(headLines);
  const table: (VirtualServer & { realServers: RealServer[] })[] = [];
  for (const line of lines) {
    if (line === '') continue;
    const real = realLine.exec(line);
    const virtual = virtualLine.exec(line);
    if (real !== null && table.length > 0) {
      const [, endpoint = '', forward = '', ...numbers] = real;
      const [weight = 0, activeConnections = 0, inactiveConnections = 0] = numbers.map(Number);
      const server = { endpoint, forward, weight, activeConnections, inactiveConnections };
      table.at(-1)?.realServers.push(server);
    } else if (virtual !== null) {
      const [, protocol, address = '', port, scheduler = '', flags = ''] = virtual;
      table.push({
        protocol: protocol as VirtualServer['protocol'],
        address: address.replace(/^\[(.*)\]$/, '$1'),
        port: Number(port),
        scheduler,
        flags: flags.trim(),
        realServers: [],
      });
    } else {
      throw new Error(`ipvsadm printed a line that is not understood: ${line}`);
    }
  }
  return table;
}

/**
 * Where new connections go: by `TCP 10.96.0.1:80` the sorted `ip:port` of its real servers, without those of
 * weight 0.
 */
export function backendsOfIpvs(table: readonly VirtualServer[]): Map<string, string[]> {
  return new Map(
    table.map(({ protocol, address, port, realServers }) => {
      const host = address.includes(':') ? `[${address}]` : address;
      const usable = realServers.filter(({ weight }) => weight > 0);
      const backends = usable.map(({ endpoint }) => endpoint).sort();
      return [`${protocol} ${host}:${port}`, backends] as const;
    }),
  );
}

/** The addresses in what `ip -json address show dev <device>` prints, sorted. */
export function parseAddresses(json: string): string[] {
  const devices = JSON.parse(json) as { addr_info?: { local: string }[] }[];
  return devices.flatMap(({ addr_info = [] }) => addr_info.map(({ local }) => local)).sort();
}
