/** Parts of undici, imported alone: its index loads fetch, caches and more, 14 MB of memory. */
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici';

  export default Client;
}

declare module 'undici/lib/core/connect.js' {
  import type { Socket } from 'node:net';
  import type { buildConnector } from 'undici';

  /** The function that it returns connects, and returns the socket before it is connected. */
  export default function createConnector(
    options: buildConnector.BuildOptions,
  ): (...args: Parameters<buildConnector.connector>) => Socket;
}

declare module 'undici/lib/api/api-request.js' {
  import type { Client, Dispatcher } from 'undici';

  export default function request(
    this: Client,
    options: Dispatcher.RequestOptions,
  ): Promise<Dispatcher.ResponseData>;
}
