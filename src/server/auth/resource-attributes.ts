import type { IncomingMessage } from 'node:http';
import type { ListOptions } from '../../client/api/list-options.ts';
import type { ViewRequestInfo } from '../../client/api/request-info.ts';
import { WrapperError } from '../../errors.ts';
import type { ReadAttributes } from './access-policy.ts';

/** A read in the form that an API server's authorizers see (apiserver/pkg/endpoints/request RequestInfoFactory). */
export function attributesOf(info: ViewRequestInfo, options: ListOptions): ReadAttributes {
  const { group, version, plural } = info.resource;
  const { labelSelector, fieldSelector } = options;
  const one = /^metadata\.name==?([a-z0-9.-]+)$/.exec(fieldSelector)?.[1] ?? '';
  const verb = info.kind === 'object' ? 'get' : options.watch ? 'watch' : 'list';
  return {
    verb,
    group,
    version,
    resource: plural,
    namespace: info.namespace,
    name: info.kind === 'object' ? info.name : one,
    labelSelector,
    fieldSelector,
  };
}

/** Throws `Forbidden` for impersonation headers: we do not check whether a caller may impersonate another user. */
export function assertNotImpersonating({ headers }: IncomingMessage): void {
  if (!Object.keys(headers).some((name) => name.startsWith('impersonate-'))) return;
  throw new WrapperError(
    'Forbidden',
    'impersonation is not supported for reads that are served here',
  );
}
