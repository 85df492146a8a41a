import type { Flag } from '../command-line/command.ts';

/* Flags that several commands have. They are those of kubectl where it has them. */

export const ADMIN: Flag = {
  ...{ name: 'admin', value: 'IP:PORT' },
  help: 'admin port of the wrapper; default 127.0.0.1:10361',
};

export const NAMESPACE: Flag = {
  ...{ name: 'namespace', short: 'n', value: 'NS' },
  help: 'only Services of this namespace, or the namespace of the argument',
};

export const ALL_NAMESPACES: Flag = {
  ...{ name: 'all-namespaces', short: 'A' },
  help: 'Services of all namespaces; this is the default',
};

export const SELECTOR: Flag = {
  ...{ name: 'selector', short: 'l', value: 'SELECTOR' },
  help: 'only Services with these labels, e.g. app=web,tier!=test',
};

export const NO_HEADERS: Flag = { name: 'no-headers', help: 'print tables without their header' };

export const KUBECONFIG: Flag = {
  ...{ name: 'kubeconfig', value: 'FILE' },
  help: 'kubeconfig with which the API server is read',
};

export const CONTEXT: Flag = {
  ...{ name: 'context', value: 'NAME' },
  help: 'context of the kubeconfig; without --kubeconfig: of $KUBECONFIG or ~/.kube/config',
};

/** The flag -o with these formats, the default first. */
export function outputFlag(...choices: readonly string[]): Flag {
  return {
    ...{ name: 'output', short: 'o', value: 'FORMAT', choices },
    help: `${choices[0]} (default), ${choices.slice(1, -1).join(', ')} or ${choices.at(-1)}`,
  };
}

/** Manifests or a cluster. */
export const INPUT: readonly Flag[] = [
  {
    ...{ name: 'from', short: 'f', value: 'FILE', multiple: true },
    help:
      'YAML or JSON from kubectl get -o yaml: a file, a folder, or - for standard input; can be given several times. ' +
      'If an object occurs more than once, the last one counts',
  },
  { name: 'recursive', short: 'R', help: 'read the folders of --from with all folders in them' },
  {
    ...KUBECONFIG,
    help: 'read a cluster; needs the right to list Nodes, Services and EndpointSlices',
  },
  CONTEXT,
  {
    ...{ name: 'config', value: 'FILE' },
    help: 'settings of the wrapper (defaults, communities, edge nodes, …)',
  },
];
