#!/usr/bin/env node
import '../src/run/no-inspector.ts';
import '../src/run/node-version.ts';

/* The plugin of kubectl: `kubectl kpw`. It is a bundle of its own, so that the wrapper's process does not grow. */

// Not imported above, as in main.ts.
const [{ endWithReader, runProgram }, { KUBECTL_KPW }] = await Promise.all([
  import('./command-line/program.ts'),
  import('./definitions/remote.ts'),
]);

endWithReader();
process.exitCode = await runProgram(KUBECTL_KPW, process.argv.slice(2));
