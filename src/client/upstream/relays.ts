import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { TlsOptions } from '../credentials/credentials.ts';
import { FileFollower } from '../system/file-follower.ts';
import { assertCertificates } from '../system/pem.ts';

export interface RelaysOptions {
  /** In order of preference, over https. */
  readonly servers: readonly URL[];
  /** The name in their certificates; default: the host of each URL. */
  readonly servername?: string | undefined;
  /** Their authority, PEM. The file is followed. */
  readonly caFile: string;
}

/**
 * Relays near this node; see src/relay. They get the token of the credentials, and no client certificate. There are
 * none while the file of their authority is missing or broken: the API server serves the node all the same.
 */
export class Relays {
  readonly #options: RelaysOptions;
  readonly #logger: Logger;
  readonly #follower: FileFollower;
  /** Requests to relays that were replaced may be open. */
  readonly #known = new WeakSet<URL>();
  #onChange: () => void;
  #authority: Buffer | undefined;
  #servers: readonly URL[] = [];
  #missing: string | undefined;

  /** @param onChange called when {@link servers} or {@link tls} have changed */
  constructor(options: RelaysOptions, logger: Logger, onChange: () => void) {
    const { caFile } = options;
    this.#options = options;
    this.#logger = logger;
    this.#onChange = onChange;
    this.#list(options.servers);
    this.#follower = new FileFollower({
      read: async () => this.#read(),
      onFailure: ({ message: err }) => {
        const text =
          'no relay is used: relays.caFile cannot be read; the file is read again every few seconds';
        logger.warn({ caFile, err }, text);
      },
      watched: [caFile],
    });
    try {
      this.#authority = readAuthority(caFile);
    } catch {
      // The follower reads it too, and logs why that fails.
    }
    void this.#follower.reread();
  }

  /** In order of preference. */
  get servers(): readonly URL[] {
    return this.#authority === undefined ? [] : this.#servers;
  }

  /** Without an authority no certificate is valid. */
  get tls(): TlsOptions {
    const { servername } = this.#options;
    return { ca: this.#authority ?? [], servername, allowPartialTrustChain: true };
  }

  /** Why none is used; undefined: they may be. */
  get problem(): string | undefined {
    const { problem } = this.#follower;
    return problem
      ? `the file ${this.#options.caFile} of relays.caFile: ${problem}`
      : this.#missing;
  }

  /** @param server one of {@link servers}, now or before */
  isRelay(server: URL): boolean {
    return this.#known.has(server);
  }

  /**
   * Uses other relays, or another order, from now on.
   *
   * @param problem why there are none
   * @returns whether {@link servers} have changed
   */
  replace(servers: readonly URL[], problem?: string): boolean {
    this.#missing = problem;
    const before = this.#servers;
    this.#list(servers);
    return String(before) !== String(this.#servers);
  }

  close(): void {
    this.#onChange = () => {};
    this.#follower.close();
  }

  /** A relay that stays remains the same object. */
  #list(servers: readonly URL[]): void {
    const before = new Map(this.#servers.map((server) => [server.href, server]));
    this.#servers = servers.map((server) => before.get(server.href) ?? server);
    for (const server of this.#servers) this.#known.add(server);
  }

  #read(): void {
    const { caFile } = this.#options;
    const before = this.#authority;
    this.#authority = undefined;
    try {
      this.#authority = readAuthority(caFile);
    } finally {
      const isSame = String(before) === String(this.#authority);
      if (!isSame) this.#onChange();
    }
    if (this.#follower.problem === undefined) return;
    this.#logger.info({ caFile }, 'relays are used again: relays.caFile can be read');
  }
}

/** Throws if the file cannot be read, or if a certificate in it is broken. */
function readAuthority(file: string): Buffer {
  const authority = readFileSync(file);
  assertCertificates(authority);
  return authority;
}
