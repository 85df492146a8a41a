import type { Explained } from '../admin/explain/explained-service.ts';
import type { Summary } from '../admin/explain/summary.ts';
import { adminUrl, askAdmin } from './admin-client.ts';
import { type Command, choiceFlag, EXIT, textFlag, UsageError } from './command.ts';
import { formatExplained, formatSummary } from './explain-text.ts';
import { formatData } from './format-output.ts';

/** `kube-proxy-wrapper explain`. */
export const explainCommand: Command = {
  summary: 'say what this node sees of each Service, and why',
  help: `Asks the wrapper that runs on this node what kube-proxy sees of a Service, and why.

Usage:
  kube-proxy-wrapper explain [flags]                    all Services, one line each
  kube-proxy-wrapper explain NAMESPACE/SERVICE [flags]  one Service (default/ may be left out)

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
      const explained = await askAdmin<Explained>(url, path);
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

/** The last part of a path about one Service. */
export function servicePath(service: string, namespace = 'default'): string {
  const [first = '', second, ...more] = service.split('/');
  if (first === '' || second === '' || more.length > 0) {
    throw new UsageError(`write NAMESPACE/SERVICE, not ${JSON.stringify(service)}`);
  }
  const names = second === undefined ? [namespace, first] : [first, second];
  return names.map(encodeURIComponent).join('/');
}

/** Takes the answer page by page: it is bounded. */
async function readAll(url: string, query: URLSearchParams): Promise<Summary> {
  let all: Summary | undefined;
  for (;;) {
    const { next, ...page } = await askAdmin<Summary>(url, `/explain?${query}`);
    all = { ...page, services: [...(all?.services ?? []), ...page.services] };
    if (next === undefined) return all;
    query.set('after', next);
  }
}
