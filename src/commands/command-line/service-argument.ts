import { WrapperError } from '../../errors.ts';
import { parseLabelSelector } from '../../topology/policy/label-selector.ts';
import { type Flags, textFlag, UsageError } from './flags.ts';

/** The name of a Service, from an argument. */
export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** Names of the kind, as kubectl accepts them. */
const KINDS = ['svc', 'service', 'services'];

/**
 * Reads the arguments that name a Service: `web`, `shop/web`, `svc/web`, `svc web` or `svc/shop/web`. Without a
 * namespace it is that of -n, else `default`. Undefined: no Service is named. Throws UsageError.
 */
export function serviceArgument(args: readonly string[], flags: Flags): ServiceName | undefined {
  assertNamespaceFlags(flags);
  const [first, ...rest] = args;
  const hasKind = first !== undefined && KINDS.includes(first);
  const [text, ...more] = hasKind ? rest : args;
  if (more.length > 0)
    throw new UsageError(`unexpected ${JSON.stringify(more[0])}: only a Service can be named`);
  if (text === undefined) return undefined;
  const parts = text.split('/');
  if (parts.length > 1 && KINDS.includes(parts[0] ?? '')) parts.shift();
  if (parts.length > 2 || parts.includes('')) {
    throw new UsageError(`the argument must be NAMESPACE/SERVICE, not ${JSON.stringify(text)}`);
  }
  const [name = '', namespace = textFlag(flags, 'namespace') ?? 'default'] = parts.reverse();
  return { namespace, name };
}

/** The namespace of -n; undefined: all. Throws UsageError if -A is given too. */
export function namespaceFlag(flags: Flags): string | undefined {
  assertNamespaceFlags(flags);
  return textFlag(flags, 'namespace');
}

function assertNamespaceFlags(flags: Flags): void {
  if (flags['all-namespaces'] === true && flags.namespace !== undefined) {
    throw new UsageError('use --namespace or --all-namespaces, not both');
  }
}

/** The requirements of -l; empty: all Services. Throws UsageError. */
export function selectorFlag(flags: Flags): ReturnType<typeof parseLabelSelector> {
  const text = textFlag(flags, 'selector');
  try {
    return text === undefined ? [] : parseLabelSelector(text);
  } catch (error) {
    throw new UsageError(`--selector: ${WrapperError.from(error, 'InvalidSettings').message}`);
  }
}

/** `<namespace>/<name>` for a path. */
export function servicePath({ namespace, name }: ServiceName): string {
  return `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
