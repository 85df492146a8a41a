import type { IncomingMessage } from 'node:http';
import { ownNodeQuery } from '../../client/api/kube-proxy-queries.ts';
import { type ListOptions, parseListOptions } from '../../client/api/list-options.ts';
import type { Query } from '../../client/api/query.ts';
import type { RequestTarget, ViewRequestInfo } from '../../client/api/request-info.ts';
import { sliceSelectionOf } from '../../client/api/slice-selection.ts';
import { WrapperError } from '../../errors.ts';
import type { Encoding } from '../../filter/codec/codec.ts';
import { NODES } from '../../filter/objects/resource.ts';
import type { ReadAttributes } from '../auth/access-policy.ts';
import { notGranted } from '../auth/loopback-access.ts';
import { assertNotImpersonating, attributesOf } from '../auth/resource-attributes.ts';

/** A read that a view answers. */
export interface ReadRequest {
  readonly info: ViewRequestInfo;
  readonly options: ListOptions;
  /** The query whose view has the answer. */
  readonly query: Query;
  readonly attributes: ReadAttributes;
  /** A list has at most the object of this key; absent: all objects. */
  readonly only?: string | undefined;
}

/** The only Node that can be read. */
export interface OwnNode {
  readonly nodeName: string;
  /** A kube-proxy, or a client like it, reads a Node of another name, and is refused. Anybody can choose the name. */
  readonly onOtherNode?: ((name: string) => void) | undefined;
}

/** Parses a read. Throws `Forbidden`, `MethodNotAllowed` or `BadRequest` if no view answers the request. */
export function parseRead(
  request: IncomingMessage,
  { info, query: parameters }: RequestTarget,
  encoding: Encoding,
  ownNode: OwnNode,
): ReadRequest {
  if (info.kind === 'other') throw notGranted(request);
  if (request.method !== 'GET') throw wrongMethod(request);
  assertNotImpersonating(request);
  const options = parseListOptions(parameters);
  if (info.kind === 'object') assertPlainGet(options);
  const query =
    info.resource === NODES
      ? nodeQuery(info, options, encoding, ownNode)
      : viewQuery(info, options, encoding);
  return { info, options, query, attributes: attributesOf(info, options) };
}

function assertPlainGet({ labelSelector, fieldSelector, watch }: ListOptions): void {
  if (labelSelector === '' && fieldSelector === '' && !watch) return;
  throw new WrapperError('BadRequest', 'a GET of one object has no selectors and no watch');
}

/** Throws `Forbidden` for any other Node than the own one. */
function nodeQuery(
  info: ViewRequestInfo,
  { labelSelector, fieldSelector }: ListOptions,
  encoding: Encoding,
  { nodeName, onOtherNode }: OwnNode,
): Query {
  const query = ownNodeQuery(nodeName);
  const selector = query.fieldSelector;
  const name = info.kind === 'object' ? info.name : nameIn(fieldSelector);
  if (name === nodeName) return { ...query, labelSelector, encoding };
  // kubectl reads JSON. Nothing depends on what it reads.
  if (name !== undefined && encoding === 'protobuf') onOtherNode?.(name);
  throw new WrapperError(
    'Forbidden',
    `only the Node of this machine can be read here: fieldSelector=${selector}`,
  );
}

/** The name that a field selector selects. Undefined: it does not select one object. */
function nameIn(fieldSelector: string): string | undefined {
  const [, name] = /^metadata\.name=([^,]+)$/.exec(fieldSelector) ?? [];
  return name;
}

/**
 * A GET reads the view of the whole namespace: a decision about one slice needs its siblings. Throws `BadRequest` for
 * selectors of slices that cannot be evaluated here.
 */
function viewQuery(
  { resource, namespace }: ViewRequestInfo,
  { labelSelector, fieldSelector }: ListOptions,
  encoding: Encoding,
): Query {
  const query = { resource, namespace, labelSelector, fieldSelector, encoding };
  sliceSelectionOf(query);
  return query;
}

/** Writes get 403 like everything that is not granted. Other methods do not exist for a collection. */
function wrongMethod(request: IncomingMessage): WrapperError {
  if (/^(POST|PUT|PATCH|DELETE)$/.test(request.method ?? '')) return notGranted(request);
  return new WrapperError(
    'MethodNotAllowed',
    `${request.method} is not a method of this collection`,
  );
}
