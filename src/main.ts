#!/usr/bin/env -S node --disable-sigusr1
import './node-version.ts';
import './v8-flags.ts';

// Not imported above: a bundle in several files would load them before it runs the two above.
const [{ endWithReader, runProgram }, { localSession }] = await Promise.all([
  import('./commands/command-line/program.ts'),
  import('./commands/node/local-session.ts'),
]);

endWithReader();
process.exitCode = await runProgram(
  {
    title: "shows kube-proxy the endpoints that each Service's topology policy selects",
    session: localSession,
  },
  process.argv.slice(2),
);
