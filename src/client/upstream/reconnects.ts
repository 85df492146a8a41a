import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/**
 * How often a Client of undici may still connect. After a GOAWAY it connects again for what that refused, while old
 * streams go on beside the new ones. If that connection is lost as well, another one would bring all of them again.
 *
 *   any ──goAway──▶ once ──connect──▶ never
 */
export class Reconnects {
  #state: 'any' | 'once' | 'never' = 'any';
  /** The last connection. */
  #socket: Socket | undefined;
  /** What the first GOAWAY has closed: old streams go on there. */
  #old: Socket | undefined;

  /** Opens a connection, or calls back with an error. */
  connect(open: () => Socket, callback: buildConnector.Callback): void {
    if (this.#state !== 'never') {
      if (this.#state === 'once') this.#state = 'never';
      this.#socket = open();
      return;
    }
    const error = new Error('a GOAWAY has closed the connection');
    // While old streams go on, undici does not tell what waits that there is no connection. So they end as well.
    this.#old?.destroy(error);
    callback(error, null);
  }

  /** The connection was closed for new requests, and its streams go on. */
  goAway(): void {
    if (this.#state === 'any') this.#state = 'once';
    this.#old ??= this.#socket;
  }
}
