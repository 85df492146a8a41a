import type { Credentials, TlsOptions } from '../../../src/client/credentials/credentials.ts';

/** Credentials that a test controls. */
export class FakeCredentials implements Credentials {
  servers: URL[];
  token = 'own-token';
  refreshes = 0;
  /** Runs at each refresh, before it resolves. */
  onRefresh: () => void = () => {};
  readonly #listeners = new Set<() => void>();
  #tls: TlsOptions;

  constructor(server: URL, tls: TlsOptions = {}) {
    this.servers = [server];
    this.#tls = tls;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  async headers(): Promise<Record<string, string>> {
    return { authorization: `Bearer ${this.token}` };
  }

  tls(): TlsOptions {
    return this.#tls;
  }

  async refresh(): Promise<void> {
    this.refreshes++;
    this.onRefresh();
  }

  onTlsChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Replaces the TLS options and notifies the listeners. */
  setTls(tls: TlsOptions): void {
    this.#tls = tls;
    for (const listener of this.#listeners) listener();
  }

  close(): void {
    this.#listeners.clear();
  }
}
