#!/usr/bin/env node
import './no-inspector.ts';
import './node-version.ts';
import './v8-flags.ts';

// Not imported above: a bundle in several files would load them before it runs the three above.
const [{ endWithReader, runProgram }, { COMMANDS, REMOVED_COMMANDS }] = await Promise.all([
  import('./commands/command-line/program.ts'),
  import('./commands/definitions/all.ts'),
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
