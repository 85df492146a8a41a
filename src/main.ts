#!/usr/bin/env node
import './node-version.ts';
import './v8-flags.ts';
import { localSession } from './commands/local-session.ts';
import { endWithReader, runProgram } from './commands/program.ts';

endWithReader();
process.exitCode = await runProgram(
  {
    title: "shows kube-proxy the endpoints that each Service's topology policy selects",
    session: localSession,
  },
  process.argv.slice(2),
);
