import type { IncomingMessage } from 'node:http';

/**
 * For which Node a wrapper works. The next process compares it before it listens; see hot-restart.ts. The admin port
 * has it at /version. A process with another admin port can share the https port only, so that one has it too.
 */
export interface NodeIdentity {
  /** Name of the Node; undefined: it is not known. */
  readonly node: string | undefined;
  /** UID of the Node object. It differs between clusters. Undefined: the Node has not been read. */
  readonly nodeUid: string | undefined;
}

/** Path of the identity over https (RFC 8615). An API server does not serve it. */
export const IDENTITY_PATH = '/.well-known/kube-proxy-wrapper';

/**
 * Whether a request over https reads the identity. It needs no credentials, because the next process has none that this
 * one could verify. Therefore only processes of this machine may read it: they connect from the address to which they
 * connect. They can read the same at the admin port.
 */
export function isIdentityRequest({ method, url, socket }: IncomingMessage): boolean {
  if (method !== 'GET' || url !== IDENTITY_PATH) return false;
  const { remoteAddress, localAddress } = socket;
  return remoteAddress !== undefined && remoteAddress === localAddress;
}

/** Reads an identity from a response. It has no name if the response is not one of a wrapper. */
export function parseIdentity(text: string): NodeIdentity {
  try {
    const { node, nodeUid } = JSON.parse(text) as { node?: unknown; nodeUid?: unknown };
    return { node: shortText(node), nodeUid: shortText(nodeUid) };
  } catch {
    return { node: undefined, nodeUid: undefined };
  }
}

/** Names and UIDs have at most 253 characters. */
function shortText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= 253 ? value : undefined;
}
