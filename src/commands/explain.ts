import type { Explained } from '../admin/explain/explained-service.ts';
import type { Summary } from '../admin/explain/summary.ts';
import { adminUrl, requestAdmin } from './admin-client.ts';
import { type Command, choiceFlag, EXIT, textFlag, UsageError } from './command.ts';
import { formatExplained, formatSummary } from './explain-text.ts';
import { formatData } from './format-output.ts';

/** `kube-proxy-wrapper explain`. */
export const explainCommand: Command = {
  summary: 'explain what this node sees of each Service',
  help: `Shows what kube-proxy on this node sees of a Service, and why. The running wrapper answers.

Usage:
  kube-proxy-wrapper explain [flags]                    all Services, one line each
  kube-proxy-wrapper explain NAMESPACE/SERVICE [flags]  one Service (default/ is optional)

Flags:
  --admin IP:PORT      admin port of the wrapper; default 127.0.0.1:10361
  -n, --namespace NS   only Services of this namespace
  --warnings           only Services with warnings
  -o, --output FORMAT  text (default), json or yaml

Examples:
  kube-proxy-wrapper explain shop/web
  kube-proxy-wrapper explain --warnings
  kube-proxy-wrapper explain shop/web -o json | jq '.ports[].winner'

Exit codes: 0 answered, 1 no wrapper answers or there is no such Service, 2 wrong command line.
`,
  options: {
    admin: { type: 'string' },
    namespace: { type: 'string', short: 'n' },
    warnings: { type: 'boolean' },
    output: { type: 'string', short: 'o' },
  },
  maxArguments: 1,
  async execute(flags, [service]) {
    const url = adminUrl(flags);
    const format = choiceFlag(flags, 'output', ['text', 'json', 'yaml']);
    const namespace = textFlag(flags, 'namespace');
    if (service !== undefined) {
      const path = `/explain/${servicePath(service, namespace)}`;
      const explained = await requestAdmin<Explained>(url, path);
      const text = format === 'text' ? formatExplained(explained) : formatData(explained, format);
      process.stdout.write(text);
      return EXIT.ok;
    }
    const query = new URLSearchParams({ limit: '500' });
    if (namespace !== undefined) query.set('namespace', namespace);
    if (flags.warnings === true) query.set('warnings', 'true');
    const summary = await readAll(url, query);
    process.stdout.write(format === 'text' ? formatSummary(summary) : formatData(summary, format));
    return EXIT.ok;
  },
};

/** `<namespace>/<name>` for a path, from an argument. */
export function servicePath(service: string, namespace = 'default'): string {
  const [first = '', second, ...more] = service.split('/');
  if (first === '' || second === '' || more.length > 0) {
    throw new UsageError(`the argument must be NAMESPACE/SERVICE, not ${JSON.stringify(service)}`);
  }
  const names = second === undefined ? [namespace, first] : [first, second];
  return names.map(encodeURIComponent).join('/');
}

/** Reads all pages, because the length of a response is limited. */
async function readAll(url: string, query: URLSearchParams): Promise<Summary> {
  let all: Summary | undefined;
  for (;;) {
    const { next, ...page } = await requestAdmin<Summary>(url, `/explain?${query}`);
    all = { ...page, services: [...(all?.services ?? []), ...page.services] };
    if (next === undefined) return all;
    query.set('after', next);
  }
}
