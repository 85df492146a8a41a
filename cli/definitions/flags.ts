import { InvalidArgumentError, Option } from 'commander';
import { parseLabelSelector } from '../../src/topology/policy/label-selector.ts';
import { messageOf } from '../../src/util/message-of.ts';

/* Flags that several commands have. They are those of kubectl where it has them. */

export const ADMIN = new Option('--admin <IP:PORT>', 'admin port of the wrapper')
  .default('127.0.0.1:10361')
  .argParser((text) => {
    if (/^[^\s/]+:[0-9]{1,5}$/.test(text) && URL.canParse(`http://${text}`)) return text;
    throw new InvalidArgumentError('It must be IP:PORT.');
  });

export const NAMESPACE = new Option(
  '-n, --namespace <NS>',
  'only Services of this namespace, or the namespace of the argument',
);

export const ALL_NAMESPACES = new Option(
  '-A, --all-namespaces',
  'Services of all namespaces; this is the default',
).conflicts('namespace');

export const SELECTOR = new Option(
  '-l, --selector <SELECTOR>',
  'only Services with these labels, e.g. app=web,tier!=test',
).argParser((text) => {
  try {
    parseLabelSelector(text);
    return text;
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
});

export const NO_HEADERS = new Option('--no-headers', 'print tables without their header');

/** @param kubeconfig what it is for */
export function kubeconfigFlags(kubeconfig: string): Option[] {
  return [
    new Option('--kubeconfig <FILE>', `${kubeconfig}; default: $KUBECONFIG or ~/.kube/config`),
    new Option('--context <NAME>', 'context of the kubeconfig; default: its current one'),
    new Option(
      '--as <USER>',
      'act as this user, or service account; needs the right to impersonate',
    ),
    listFlag('--as-group <GROUP>', 'act as a member of this group, with --as'),
  ];
}

/** The flag -o with these formats, the default first. */
export function outputFlag(...formats: readonly string[]): Option {
  return new Option('-o, --output <FORMAT>', 'format of the output')
    .choices(formats)
    .default(formats[0]);
}

export const WATCH = new Option(
  '-w, --watch',
  'look every 5 s, and print again what has changed, until a signal comes',
);

/** A flag that can be given several times. */
export function listFlag(flags: string, help: string): Option {
  return new Option(flags, `${help}; can be given several times`).argParser<string[]>(
    (text, before = []) => [...before, text],
  );
}

/** A flag with a whole number. */
export function numberFlag(
  flags: string,
  help: string,
  otherwise: number,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): Option {
  return new Option(flags, help).default(otherwise).argParser((text) => {
    const number = Number(text);
    if (/^[0-9]+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  });
}
