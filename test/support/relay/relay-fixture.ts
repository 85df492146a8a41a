import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { type ServingFiles, writeServingFiles } from '../../../harness/certificates.ts';
import { listenersOptions } from '../../../src/config/listener-options.ts';
import { nodeProxyOptions } from '../../../src/config/node-proxy-options.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { type Relay, type RelayOptions, startRelay } from '../../../src/relay/relay.ts';
import type { NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { closedLater } from '../closed-later.ts';
import { FakeCredentials } from '../http/credentials.ts';
import { ask as askAny, type RequestOptions } from '../http/http-client.ts';
import { useFolder } from '../use-folder.ts';
import { askAt, useReviewedCluster } from '../wrapper/https-wrapper.ts';

const NO_CHECK = { rejectUnauthorized: false };

/** Credentials for an API server in memory over TLS. @param token by which its requests can be told apart */
export function credentialsFor(apiServer: string, token?: string): FakeCredentials {
  const credentials = new FakeCredentials(new URL(apiServer), NO_CHECK);
  if (token !== undefined) credentials.token = token;
  return credentials;
}

/** Starts a relay; it is closed later. @param port default: any; also `<host>:<port>` */
export async function useRelayOf(
  apiServer: string,
  files: ServingFiles,
  options: Partial<RelayOptions> = {},
  port: number | string = 0,
): Promise<Relay> {
  const listen = typeof port === 'string' ? port : `127.0.0.1:${port}`;
  const https = { listen, certFile: files.certFile, keyFile: files.keyFile };
  const settings = loadSettings({ nodeName: 'relay', https, handoverSeconds: 5 }, {}, undefined);
  const relay = await startRelay({
    ...nodeProxyOptions(settings),
    https: listenersOptions(settings).https,
    credentials: credentialsFor(apiServer),
    logger: pino({ level: 'silent' }),
    ...options,
  });
  return closedLater(relay);
}

/**
 * A relay in front of an API server that reviews callers. It is closed later. A token is the name of its user, or
 * `<user>/<any text>`.
 */
export async function useReviewedRelay(options: Partial<RelayOptions> = {}) {
  const { cluster, api } = await useReviewedCluster();
  const files = await writeServingFiles(useFolder());
  const credentials = new FakeCredentials(new URL(api.url));
  const relay = await useRelayOf(api.url, files, { credentials, ...options });
  const ca = readFileSync(files.caFile, 'utf8');
  const { url } = relay;
  return { relay, url, cluster, api, ca, ask: askAt(Number(new URL(url).port), ca) };
}

export type ReviewedRelay = Awaited<ReturnType<typeof useReviewedRelay>>;

/** Options of a wrapper behind relays. */
export function behind(
  apiServer: string,
  files: ServingFiles,
  ...relays: readonly Relay[]
): Partial<NodeProxyOptions> {
  const servers = relays.map(({ url }) => new URL(url));
  return { credentials: credentialsFor(apiServer), relays: { servers, caFile: files.caFile } };
}

export interface Answer {
  readonly code: number;
  /** Parsed JSON. */
  readonly body: {
    readonly metadata: { readonly resourceVersion: string };
    readonly items: readonly { readonly metadata: { readonly name: string } }[];
    readonly message: string;
    readonly reason: string;
  };
}

export interface AskOptions extends RequestOptions {
  readonly accept?: string;
}

/** Sends a request in JSON, over TLS to any certificate. Default token: that of a node. */
export async function ask(url: string, options: AskOptions = {}): Promise<Answer> {
  const { accept = 'application/json', headers, ...rest } = { token: 'node', ...options };
  const sent = { ...NO_CHECK, ...rest, headers: { accept, ...headers } };
  const { response, body } = await askAny(url, sent);
  return { code: response.statusCode ?? 0, body: JSON.parse(body) as Answer['body'] };
}

/** The code of the answer to a request in protobuf, as a wrapper sends it. */
export async function codeOf(url: string): Promise<number> {
  const headers = { accept: 'application/vnd.kubernetes.protobuf' };
  const { response } = await askAny(url, { ...NO_CHECK, token: 'node', headers });
  return response.statusCode ?? 0;
}
