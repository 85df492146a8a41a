import { type Fields, fields, number, text } from '../../filter/codec/json/fields.ts';
import { isSubdomain } from '../../topology/policy/label.ts';
import type { EventApiVersion } from '../api/request-info.ts';
import { parseUnambiguous, type ReportedEvent, readEvent } from './event-reader.ts';

/** Rules by which an Event is refused, as the metric has them; see {@link REFUSALS}. */
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
  /** Too many at once. */
  busy: { code: 429, reason: 'TooManyRequests' },
  /** Too many in a row. */
  rate: { code: 429, reason: 'TooManyRequests' },
  'media-type': { code: 415, reason: 'UnsupportedMediaType' },
  malformed: { code: 400, reason: 'BadRequest' },
  /** Not reported by kube-proxy. */
  reporter: { code: 403, reason: 'Forbidden' },
  /** Reported on another host, or about another Node. */
  node: { code: 403, reason: 'Forbidden' },
  /** About an object on which kube-proxy does not report, or in another namespace. */
  object: { code: 403, reason: 'Forbidden' },
  /** With metadata that kube-proxy does not set. */
  metadata: { code: 403, reason: 'Forbidden' },
  /** An update of an Event that was not written through this process. */
  'unknown-event': { code: 403, reason: 'Forbidden' },
  /** An update of more than the counts and times. */
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
/** Of a note (kubernetes core/validation NoteLengthLimit). */
const MAX_MESSAGE_LENGTH = 1024;

/** Tells kube-proxy's own Events about this node, and about Services, from all others. */
export class EventAdmission {
  readonly #nodeName: string;
  readonly #hosts: ReadonlySet<string>;

  /**
   * @param hostName of the machine: kube-proxy reports this one, whatever its Node is called (client-go tools/events
   *   NewRecorder)
   */
  constructor(nodeName: string, hostName: string) {
    this.#nodeName = nodeName;
    const names = [nodeName, hostName].map((name) => name.toLowerCase());
    const short = names.map((name) => name.split('.')[0] ?? '');
    this.#hosts = new Set([...names, ...short].filter((name) => name !== ''));
  }

  /** Checks the body of a POST to the Events of a namespace. Returns the Event's name, or why it is refused. */
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
      const names = shown(reporters.join(', '));
      return { rule: 'reporter', message: `the Event is reported by ${names}, not by ${PROXY}` };
    }
    // Also the one that kube-proxy made before it had such a field: the host alone.
    const hosts = [instance.replace(/^kube-proxy-/, ''), host].filter((name) => name !== '');
    if (hosts.length > 0 && hosts.every((name) => this.#hosts.has(name.toLowerCase()))) return;
    return {
      rule: 'node',
      message:
        `the Event is reported on the host ${shown(hosts.join(', '))}; this one is known as ` +
        [...this.#hosts].join(', '),
    };
  }

  /** What kube-proxy reports on: its Node and Services (kubernetes cmd/kube-proxy/app, pkg/proxy/healthcheck). */
  #checkObject(
    { regarding, namespace }: ReportedEvent,
    requested: string,
  ): EventRefusal | undefined {
    const { kind, apiVersion, name } = regarding;
    if (namespace !== requested) {
      return { rule: 'object', message: `the Event is not of the namespace ${shown(requested)}` };
    }
    const isCore = apiVersion === 'v1' || apiVersion === '';
    if (!isCore || (kind !== 'Node' && kind !== 'Service')) {
      const message = `kube-proxy writes no Events about the kind ${shown(`${apiVersion} ${kind}`)}`;
      return { rule: 'object', message };
    }
    if (kind === 'Node' && name !== this.#nodeName) {
      return { rule: 'node', message: `the Event is about ${shown(name)}, not about this Node` };
    }
    const home = kind === 'Node' ? NODE_EVENTS_NAMESPACE : regarding.namespace;
    const fits = namespace === home && (kind !== 'Node' || regarding.namespace === '');
    if (fits && name !== '') return undefined;
    return { rule: 'object', message: 'the Event and its object are not of one namespace' };
  }

  /** Checks the body of a PATCH of an Event: what client-go changes when it counts one that occurs again. */
  checkPatch(body: Buffer, contentType: string | undefined): EventRefusal | undefined {
    if (contentType !== PATCH_TYPE) return mediaType([PATCH_TYPE], contentType);
    try {
      const other = foreignToPatch(parseUnambiguous(body));
      if (other === undefined) return undefined;
      return { rule: 'patch', message: `kube-proxy does not change ${shown(other)} of an Event` };
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

/** An API server reads most metadata; owners and finalizers make it act. */
function checkMetadata({ name, foreign }: ReportedEvent): EventRefusal | { readonly name: string } {
  if (foreign !== '') {
    return { rule: 'metadata', message: `kube-proxy does not set ${shown(foreign)} of an Event` };
  }
  if (isSubdomain(name)) return { name };
  return { rule: 'metadata', message: `${shown(name)} is not a name of an Event` };
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

/** The first key besides a count and a time. */
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
  const message = `the Content-Type ${shown(found)} is not taken for an Event, only ${known.join(' and ')}`;
  return { rule: 'media-type', message };
}

/** What a caller wrote, as it can be told. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : String(error);
}
