import type { IncomingMessage } from 'node:http';
import { type ListOptions, parseListOptions } from '../client/api/list-options.ts';
import { metadataAccept, negotiate } from '../client/api/media-type.ts';
import type { Query } from '../client/api/query.ts';
import { parseRequestInfo, type RequestTarget } from '../client/api/request-info.ts';
import { WrapperError } from '../errors.ts';
import { objectKey } from '../filter/objects/change.ts';
import { NAMESPACES, NODES, RESOURCES, type Resource } from '../filter/objects/resource.ts';
import { COMMUNITIES } from '../node/own-watches/communities-handler.ts';
import { assertNotImpersonating, attributesOf } from '../server/auth/resource-attributes.ts';
import type { ReadRequest } from '../server/serving/parse-read.ts';

const SERVED: readonly Resource[] = [...RESOURCES, NAMESPACES, COMMUNITIES];
/** What wrappers read as metadata only, and never whole. */
const BY_LABEL: readonly Resource[] = [NODES, NAMESPACES];
const ONE_OBJECT = /^metadata\.name=[a-z0-9.-]+$/;
const NAMED = /^(?:(.+),)?metadata\.name=([a-z0-9.-]+)(?:,metadata\.namespace=([a-z0-9.-]+))?$/;

/**
 * Parses a read of a relay: a list or a watch as wrappers send them. All else is refused, so that nothing is
 * misunderstood: such a client reads from the API server itself. Throws `BadRequest`, `NotAcceptable` or `Forbidden`.
 */
export function parseRelayRead(
  request: IncomingMessage,
  { path, query: parameters }: RequestTarget,
): ReadRequest {
  const info = parseRequestInfo(path, SERVED);
  if (request.method !== 'GET' || info.kind !== 'collection') throw notServed(request);
  assertNotImpersonating(request);
  const options = parseListOptions(parameters);
  const { resource, namespace } = info;
  const { labelSelector, watch, version, match, sendInitialEvents } = options;
  // Any state will do, or a known version. Only the API server itself has the newest state.
  const isGiven = (parameters.get('resourceVersion') ?? '') !== '';
  const isKnown = isGiven && (version !== undefined || !watch);
  if (!isKnown || match === 'Exact' || sendInitialEvents !== undefined) throw notServed(request);
  const { accept } = request.headers;
  const kind = watch ? 'PartialObjectMetadata' : 'PartialObjectMetadataList';
  const metadata = metadataAccept(accept, kind);
  const metadataOnly = metadata !== undefined;
  const encoding = negotiate(metadata?.split(';', 1)[0] ?? accept);
  // As metadata, with labels: the check of a known Node, which the view of all with these labels answers.
  const isOneNode = resource === NODES && (labelSelector === '' || !metadataOnly);
  const isServed = isOneNode
    ? ONE_OBJECT.test(options.fieldSelector)
    : metadataOnly === BY_LABEL.includes(resource);
  if (!isServed) throw notServed(request);
  const { only, fieldSelector } =
    watch || isOneNode ? { ...options, only: undefined } : splitName(options, info);
  const query = { resource, namespace, labelSelector, fieldSelector, encoding, metadataOnly };
  // The right to list all objects includes the right to list one.
  const attributes = attributesOf(info, { ...options, fieldSelector });
  return { info, options, query, attributes, only };
}

/**
 * Takes the name of one object from a field selector, by which a client checks the version of a watch that it
 * continues (version-check.ts). The view of all objects answers it.
 */
function splitName(
  { fieldSelector }: ListOptions,
  { resource, namespace }: Pick<Query, 'resource' | 'namespace'>,
): { readonly fieldSelector: string; readonly only: string | undefined } {
  const [, others = '', name, selected = namespace] = NAMED.exec(fieldSelector) ?? [];
  const isKey = name !== undefined && resource.namespaced === (selected !== '');
  if (!isKey || others.includes('metadata.')) return { fieldSelector, only: undefined };
  return { fieldSelector: others, only: objectKey({ namespace: selected, name }) };
}

function notServed({ method, url }: IncomingMessage): WrapperError {
  const message = `a relay serves only what wrappers list and watch, and not ${method} ${url?.slice(0, 200)}`;
  return new WrapperError('BadRequest', message);
}
