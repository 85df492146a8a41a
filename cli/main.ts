#!/usr/bin/env node
import '../src/run/no-inspector.ts';
import '../src/run/node-version.ts';
import '../src/run/v8-flags.ts';

// Not imported above: a bundle in several files would load them before it runs the three above.
const [{ endWithReader, runProgram }, { KUBE_PROXY_WRAPPER }] = await Promise.all([
  import('./command-line/program.ts'),
  import('./definitions/all.ts'),
]);

endWithReader();
process.exitCode = await runProgram(KUBE_PROXY_WRAPPER, process.argv.slice(2));
