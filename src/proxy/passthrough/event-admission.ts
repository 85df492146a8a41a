import { type Fields, fields, number, text } from '../../filter/codec/json/fields.ts';
import { isSubdomain } from '../../topology/policy/label.ts';
import type { EventApiVersion } from '../api/request-info.ts';
import { parseUnambiguous, type ReportedEvent, readEvent } from './event-reader.ts';

/** Rules that refuse an Event, with the names of the metric; see {@link REFUSALS}. */
export type EventRule = keyof typeof REFUSALS;

/** HTTP status and Kubernetes reason of each refusal. */
export const REFUSALS = {
  /** The setting forwardEvents is false. */
  disabled: { code: 403, reason: 'Forbidden' },
  /** There are query parameters; kube-proxy sends none. */
  query: { code: 403, reason: 'Forbidden' },
  'no-length': { code: 411, reason: 'LengthRequired' },
  'too-large': { code: 413, reason: 'RequestEntityTooLarge' },
  'too-slow': { code: 408, reason: 'RequestTimeout' },
  /** Too many concurrent requests. */
  busy: { code: 429, reason: 'TooManyRequests' },
  /** Too many requests per time. */
  rate: { code: 429, reason: 'TooManyRequests' },
  'media-type': { code: 415, reason: 'UnsupportedMediaType' },
  malformed: { code: 400, reason: 'BadRequest' },
  /** Not reported by kube-proxy. */
  reporter: { code: 403, reason: 'Forbidden' },
  /** Reported on another host, or about another Node. */
  node: { code: 403, reason: 'Forbidden' },
  /** About an object that kube-proxy does not report on, or in another namespace. */
  object: { code: 403, reason: 'Forbidden' },
  /** Has metadata that kube-proxy does not set. */
  metadata: { code: 403, reason: 'Forbidden' },
  /** An update of an Event that was not written through this process. */
  'unknown-event': { code: 403, reason: 'Forbidden' },
  /** An update of other fields than counts and times. */
  patch: { code: 403, reason: 'Forbidden' },
} as const;

/** Why an Event is not forwarded. */
export interface EventRefusal {
  readonly rule: EventRule;
  readonly message: string;
}

const PROXY = 'kube-proxy';
/** The namespace of Events about objects without a namespace (client-go tools/events makeEvent). */
const NODE_EVENTS_NAMESPACE = 'default';
const MAX_TIME_LENGTH = 64;
/** Limit of a note (kubernetes core/validation NoteLengthLimit). */
const MAX_MESSAGE_LENGTH = 1024;

/** Accepts only kube-proxy's own Events about this node and about Services. */
export class EventAdmission {
  readonly #nodeName: string;
  readonly #hosts: ReadonlySet<string>;

  /**
   * @param hostName name of the host: kube-proxy reports this one, even if its Node has another name (client-go
   *   tools/events NewRecorder)
   */
  constructor(nodeName: string, hostName: string) {
    this.#nodeName = nodeName;
    const names = [nodeName, hostName].map((name) => name.toLowerCase());
    const short = names.map((name) => name.split('.')[0] ?? '');
    this.#hosts = new Set([...names, ...short].filter((name) => name !== ''));
  }

  /** Checks the body of a POST to the Events of a namespace. Returns the Event's name, or the refusal. */
  checkCreate(
    body: Buffer,
    contentType: string | undefined,
    path: { readonly apiVersion: EventApiVersion; readonly namespace: string },
  ): EventRefusal | { readonly name: string } {
    const encoding = ENCODINGS.get(contentType ?? '');
    if (encoding === undefined) return mediaType([...ENCODINGS.keys()], contentType);
    let event: ReportedEvent;
    try {
      event = readEvent(body, encoding, path.apiVersion);
    } catch (error) {
      return { rule: 'malformed', message: `the Event cannot be read: ${messageOf(error)}` };
    }
    if (event.kind !== 'Event' || event.apiVersion !== path.apiVersion) {
      return { rule: 'malformed', message: `the body is not an Event of ${path.apiVersion}` };
    }
    return (
      this.#checkReporter(event) ?? this.#checkObject(event, path.namespace) ?? checkMetadata(event)
    );
  }

  #checkReporter({
    controller,
    component,
    instance,
    host,
  }: ReportedEvent): EventRefusal | undefined {
    const reporters = [controller, component].filter((name) => name !== '');
    if (reporters.length === 0 || reporters.some((name) => name !== PROXY)) {
      const names = quoted(reporters.join(', '));
      return { rule: 'reporter', message: `the Event is reported by ${names}, not by ${PROXY}` };
    }
    // Older versions of kube-proxy set only the host.
    const hosts = [instance.replace(/^kube-proxy-/, ''), host].filter((name) => name !== '');
    if (hosts.length > 0 && hosts.every((name) => this.#hosts.has(name.toLowerCase()))) return;
    return {
      rule: 'node',
      message:
        `the Event is reported on the host ${quoted(hosts.join(', '))}; the names of this host are ` +
        [...this.#hosts].join(', '),
    };
  }

  /** kube-proxy reports on its Node and on Services (kubernetes cmd/kube-proxy/app, pkg/proxy/healthcheck). */
  #checkObject(
    { regarding, namespace }: ReportedEvent,
    requested: string,
  ): EventRefusal | undefined {
    const { kind, apiVersion, name } = regarding;
    if (namespace !== requested) {
      return { rule: 'object', message: `the Event is not in the namespace ${quoted(requested)}` };
    }
    const isCore = apiVersion === 'v1' || apiVersion === '';
    if (!isCore || (kind !== 'Node' && kind !== 'Service')) {
      const message = `kube-proxy writes no Events about the kind ${quoted(`${apiVersion} ${kind}`)}`;
      return { rule: 'object', message };
    }
    if (kind === 'Node' && name !== this.#nodeName) {
      return { rule: 'node', message: `the Event is about ${quoted(name)}, not about this Node` };
    }
    const home = kind === 'Node' ? NODE_EVENTS_NAMESPACE : regarding.namespace;
    const fits = namespace === home && (kind !== 'Node' || regarding.namespace === '');
    if (fits && name !== '') return undefined;
    return { rule: 'object', message: 'the Event and its object are not in the same namespace' };
  }

  /** Checks the body of a PATCH of an Event. client-go sends one when an Event occurs again. */
  checkPatch(body: Buffer, contentType: string | undefined): EventRefusal | undefined {
    if (contentType !== PATCH_TYPE) return mediaType([PATCH_TYPE], contentType);
    try {
      const other = foreignToPatch(parseUnambiguous(body));
      if (other === undefined) return undefined;
      return { rule: 'patch', message: `kube-proxy does not change ${quoted(other)} in an Event` };
    } catch (error) {
      return { rule: 'malformed', message: `the patch cannot be read: ${messageOf(error)}` };
    }
  }
}

/** Media types of Events as kube-proxy sends them, by its clientConnection.contentType. */
const ENCODINGS = new Map([
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
  ['application/json', 'json'],
] as const) as ReadonlyMap<string, 'protobuf' | 'json'>;
const PATCH_TYPE = 'application/strategic-merge-patch+json';

/** Refuses other metadata than name and namespace, because owners and finalizers make an API server act. */
function checkMetadata({ name, foreign }: ReportedEvent): EventRefusal | { readonly name: string } {
  if (foreign !== '') {
    return { rule: 'metadata', message: `kube-proxy does not set ${quoted(foreign)} in an Event` };
  }
  if (isSubdomain(name)) return { name };
  return { rule: 'metadata', message: `${quoted(name)} is not a valid name for an Event` };
}

/** The first key that client-go does not write (tools/events createPatchBytesForSeries, tools/record eventObserve). */
function foreignToPatch(patch: Fields): string | undefined {
  for (const key of Object.keys(patch)) {
    if (key === 'series') {
      const other = foreignToCounts(fields(patch, key), 'lastObservedTime');
      if (other !== undefined) return `series.${other}`;
    } else if (key === 'message') {
      if (text(patch, key).length > MAX_MESSAGE_LENGTH) return tooLong(key, MAX_MESSAGE_LENGTH);
    } else {
      const other = foreignToCounts({ [key]: patch[key] }, 'lastTimestamp');
      if (other !== undefined) return other;
    }
  }
  return undefined;
}

/** The first key that is neither a count nor the time. */
function foreignToCounts(object: Fields, time: string): string | undefined {
  for (const key of Object.keys(object)) {
    if (key === 'count') number(object, key);
    else if (key !== time) return key;
    else if (text(object, key).length > MAX_TIME_LENGTH) return tooLong(key, MAX_TIME_LENGTH);
  }
  return undefined;
}

function tooLong(key: string, maxLength: number): string {
  return `${key} to more than ${maxLength} characters`;
}

function mediaType(known: readonly string[], found = ''): EventRefusal {
  const message = `the Content-Type ${quoted(found)} is not accepted for an Event; use ${known.join(' or ')}`;
  return { rule: 'media-type', message };
}

/** Quotes what a caller sent, cut to 100 characters. */
function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : String(error);
}
