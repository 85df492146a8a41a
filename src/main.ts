#!/usr/bin/env node
import './v8-flags.ts';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { run } from './commands/run.ts';
import { WrapperError } from './errors.ts';

const USAGE = `kube-proxy-wrapper: shows kube-proxy the endpoints that each Service's topology policy selects

Usage:
  kube-proxy-wrapper run [flags]

Flags of run:
  --node-name NAME        name of the Node this runs on (or NODE_NAME)
  --kubeconfig FILE       how to reach the API server (or KUBECONFIG); default: in-cluster
  --listen IP:PORT        where kube-proxy reaches the wrapper, loopback only; default 127.0.0.1:10360
  --admin-listen IP:PORT  /healthz, /readyz and /metrics; default 127.0.0.1:10361
  --config FILE           settings in YAML; see the README
  --log-level LEVEL       trace, debug, info, warn, error or silent; default info

  -h, --help              this text
  --version               the version

Exit codes: 0 stopped by a signal, 1 wrong settings or nothing to start with, 2 wrong command line.
`;

const OPTIONS = {
  'node-name': { type: 'string' },
  kubeconfig: { type: 'string' },
  listen: { type: 'string' },
  'admin-listen': { type: 'string' },
  config: { type: 'string' },
  'log-level': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

async function main(args: string[]): Promise<number> {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    return fail(2, error);
  }
  const { values, positionals } = parsed;
  if (values.help === true || (args.length === 0 && positionals.length === 0)) {
    process.stdout.write(USAGE);
    return values.help === true ? 0 : 2;
  }
  if (values.version === true) {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  if (positionals.length !== 1 || positionals[0] !== 'run') {
    return fail(
      2,
      new Error(`unknown command ${JSON.stringify(positionals.join(' '))}; try --help`),
    );
  }
  try {
    const { config, 'node-name': nodeName, 'admin-listen': adminListen } = values;
    const { kubeconfig, listen, 'log-level': logLevel } = values;
    await run({ nodeName, adminListen, kubeconfig, listen, logLevel }, config);
    return 0;
  } catch (error) {
    return fail(1, error);
  }
}

function parse(args: string[]) {
  return parseArgs({ args, options: OPTIONS, allowPositionals: true });
}

function fail(code: number, error: unknown): number {
  const { message } = WrapperError.from(error, 'InvalidSettings');
  process.stderr.write(`kube-proxy-wrapper: ${message}\n`);
  return code;
}

function version(): string {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

process.exitCode = await main(process.argv.slice(2));
