#!/usr/bin/env node
import './node-version.ts';
import { endWithReader, runProgram } from './commands/command-line/program.ts';
import { remoteSession } from './commands/remote/remote-session.ts';

/* The plugin of kubectl: `kubectl kpw`. It is a bundle of its own, so that the wrapper's process does not grow. */

endWithReader();
process.exitCode = await runProgram(
  {
    title: 'queries the kube-proxy-wrappers of a cluster, from anywhere',
    session: remoteSession,
  },
  process.argv.slice(2),
);
