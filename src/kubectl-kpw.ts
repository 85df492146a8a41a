#!/usr/bin/env node
import './node-version.ts';
import { endWithReader, runProgram } from './commands/command-line/program.ts';
import { REMOTE_COMMANDS } from './commands/definitions/remote.ts';

/* The plugin of kubectl: `kubectl kpw`. It is a bundle of its own, so that the wrapper's process does not grow. */

endWithReader();
process.exitCode = await runProgram(
  {
    name: 'kubectl kpw',
    title: 'queries the kube-proxy-wrappers of a cluster, from anywhere',
    commands: REMOTE_COMMANDS,
  },
  process.argv.slice(2),
);
