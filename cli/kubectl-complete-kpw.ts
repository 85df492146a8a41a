#!/usr/bin/env node
import '../src/run/no-inspector.ts';
import '../src/run/node-version.ts';

/* kubectl calls it to complete `kubectl kpw …` in bash, zsh and fish (kubectl pkg/cmd/plugin). */

// Not imported above, as in main.ts.
const [{ complete }, { KUBECTL_KPW }] = await Promise.all([
  import('./command-line/completion.ts'),
  import('./definitions/remote.ts'),
]);

process.stdout.write(complete(KUBECTL_KPW, process.argv.slice(2)));
