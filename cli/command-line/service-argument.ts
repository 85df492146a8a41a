import { UsageError } from './usage-error.ts';

/** The name of a Service, from an argument. */
export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** Flags that select Services. */
export interface ServiceFlags {
  /** Absent: all. */
  readonly namespace?: string;
  /** A label selector. */
  readonly selector?: string;
  /** Only Services with warnings. */
  readonly warnings?: boolean;
}

/** Names of the kind, as kubectl accepts them. */
const KINDS = ['svc', 'service', 'services'];

/**
 * Reads the arguments that name a Service: `web`, `shop/web`, `svc/web`, `svc web` or `svc/shop/web`. Without a
 * namespace it is that of -n, else `default`. Undefined: no Service is named. Throws UsageError, also if flags select
 * other Services.
 */
export function serviceArgument(
  args: readonly string[],
  flags: ServiceFlags,
): ServiceName | undefined {
  const [first = '', ...rest] = args;
  const [text, ...more] = KINDS.includes(first) ? rest : args;
  if (more.length > 0)
    throw new UsageError(`unexpected ${JSON.stringify(more[0])}: only a Service can be named`);
  if (text === undefined) return undefined;
  const parts = text.split('/');
  if (parts.length > 1 && KINDS.includes(parts[0] ?? '')) parts.shift();
  if (parts.length > 2 || parts.includes('')) {
    throw new UsageError(`the argument must be NAMESPACE/SERVICE, not ${JSON.stringify(text)}`);
  }
  const [name = '', namespace = flags.namespace ?? 'default'] = parts.reverse();
  if (namespace !== (flags.namespace ?? namespace)) {
    throw new UsageError(`${text} is not in namespace ${flags.namespace}: leave out -n`);
  }
  if (flags.selector !== undefined || flags.warnings === true) {
    const flag = flags.warnings === true ? '--warnings' : '--selector';
    throw new UsageError(`${flag} selects Services, and ${text} is one: leave out one of them`);
  }
  return { namespace, name };
}

/** `<namespace>/<name>` for a path. */
export function servicePath({ namespace, name }: ServiceName): string {
  return `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
