import type { IncomingMessage } from 'node:http';
import { WrapperError } from '../../errors.ts';
import type { ListOptions } from '../api/list-options.ts';
import type { RequestInfo } from '../api/request-info.ts';
import type { ReadAttributes } from './access-policy.ts';

/** A path that a view answers. */
export type ViewRequestInfo = Extract<RequestInfo, { kind: 'collection' | 'object' }>;

/** How an API server's authorizers see a read (apiserver/pkg/endpoints/request RequestInfoFactory). */
export function attributesOf(target: ViewRequestInfo, options: ListOptions): ReadAttributes {
  const { group, version, plural } = target.resource;
  const { labelSelector, fieldSelector } = options;
  const one = /^metadata\.name==?([a-z0-9.-]+)$/.exec(fieldSelector)?.[1] ?? '';
  const verb = target.kind === 'object' ? 'get' : options.watch ? 'watch' : 'list';
  return {
    ...{ verb, group, version, resource: plural, namespace: target.namespace },
    ...{ name: target.kind === 'object' ? target.name : one, labelSelector, fieldSelector },
  };
}

/** Throws `Forbidden`: whether somebody may act as somebody else is not asked here, so nobody may. */
export function assertNotImpersonating({ headers }: IncomingMessage): void {
  if (!Object.keys(headers).some((name) => name.startsWith('impersonate-'))) return;
  throw new WrapperError('Forbidden', 'what is served here cannot be read as somebody else');
}
