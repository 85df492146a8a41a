#!/usr/bin/env node
import '../src/no-inspector.ts';
import '../src/node-version.ts';
import '../src/v8-flags.ts';

// Not imported above: a bundle in several files would load them before it runs the three above.
const [{ endWithReader, runProgram }, { COMMANDS, REMOVED_COMMANDS }] = await Promise.all([
  import('./command-line/program.ts'),
  import('./definitions/all.ts'),
]);

endWithReader();
process.exitCode = await runProgram(
  {
    name: 'kube-proxy-wrapper',
    title: "shows kube-proxy the endpoints that each Service's topology policy selects",
    commands: COMMANDS,
    removed: REMOVED_COMMANDS,
  },
  process.argv.slice(2),
);
