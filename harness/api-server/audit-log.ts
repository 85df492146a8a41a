import { readFileSync } from 'node:fs';

/** A request that the API server has answered, or begun to answer if it is a watch. */
export interface AuditedRequest {
  readonly user: string;
  /** The Pod that has the token, such as `kube-proxy-wrapper-x7k2p`; empty: the token is of no Pod. */
  readonly pod: string;
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`. */
  readonly verb: string;
  /** Plural name, such as `endpointslices`, or with a subresource `pods/status`. */
  readonly resource: string;
  /** Empty for all namespaces. */
  readonly namespace: string;
  /** Path and query as the client sent them. */
  readonly uri: string;
  /** HTTP status. */
  readonly code: number;
  /** Kind of the object in the answer, such as `NodeList`; known of lists of nodes only. */
  readonly answerKind: string | undefined;
  /** A watch that has not ended. */
  readonly open: boolean;
  /** Milliseconds since the epoch when the API server received it. */
  readonly receivedAt: number;
  /** Milliseconds since the epoch when all of the answer was written; of an open watch, its beginning. */
  readonly answeredAt: number;
}

/** Which requests to take; a field left out takes all. */
export interface RequestFilter {
  readonly user?: string;
  readonly verb?: string;
  readonly resource?: string;
  readonly open?: boolean;
  /** Only requests received at or after this time (milliseconds since the epoch). */
  readonly since?: number;
}

/** PolicyRules of audit.k8s.io/v1; the first that fits a request counts. */
export type AuditRules = readonly { readonly level: string; readonly [field: string]: unknown }[];

/**
 * Level Metadata; a request is logged when its response begins and when it ends. The control plane's
 * own requests are omitted: there are many, and no test needs them.
 */
const RULES: AuditRules = [
  { level: 'None', users: ['system:apiserver', 'system:kube-controller-manager'] },
  { level: 'None', nonResourceURLs: ['*'] },
  // The response shows whether only metadata was requested; the log has no Accept header.
  { level: 'RequestResponse', verbs: ['list'], resources: [{ group: '', resources: ['nodes'] }] },
  { level: 'Metadata' },
];

export const auditPolicy = (rules = RULES) => ({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules,
});

/** The fields that we read of an audit.k8s.io/v1 Event. */
interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: {
    readonly username: string;
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly responseObject?: { readonly kind?: string };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

/** Reads the audit log into one entry for each request, in order of arrival in the log. */
export function readAuditLog(path: string, filter: RequestFilter = {}): AuditedRequest[] {
  const requests = new Map<string, AuditedRequest>();
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const event = parseLine(line);
    if (event !== undefined) requests.set(event.auditID, toRequest(event));
  }
  return [...requests.values()].filter(
    (request) =>
      (filter.user === undefined || request.user === filter.user) &&
      (filter.verb === undefined || request.verb === filter.verb) &&
      (filter.resource === undefined || request.resource === filter.resource) &&
      (filter.open === undefined || request.open === filter.open) &&
      (filter.since === undefined || request.receivedAt >= filter.since),
  );
}

/** The last line may still be in the writing; it will be whole at the next reading. */
function parseLine(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}

function toRequest(event: AuditEvent): AuditedRequest {
  const { resource = '', subresource, namespace = '' } = event.objectRef ?? {};
  return {
    user: event.user.username,
    pod: event.user.extra?.['authentication.kubernetes.io/pod-name']?.[0] ?? '',
    verb: event.verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    uri: event.requestURI,
    code: event.responseStatus?.code ?? 0,
    answerKind: event.responseObject?.kind,
    open: event.stage === 'ResponseStarted',
    receivedAt: Date.parse(event.requestReceivedTimestamp),
    answeredAt: Date.parse(event.stageTimestamp),
  };
}
