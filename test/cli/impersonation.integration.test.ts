import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { withKubeClient } from '../../cli/client/kube-client.ts';
import { parseCommandLine } from '../../cli/command-line/command-line.ts';
import { userKubeconfig } from '../../cli/command-line/user-kubeconfig.ts';
import { KUBECTL_KPW } from '../../cli/definitions/remote.ts';
import { closedLater } from '../support/closed-later.ts';
import { transcriptOf } from '../support/commands/transcript.ts';
import { useFolder } from '../support/use-folder.ts';
import { servingTls } from '../support/wrapper/small-cluster.ts';

/** An API server that answers whom it takes the caller for. It speaks HTTP/2 to those who offer it. */
async function startWhoAmI(): Promise<string> {
  const server = createSecureServer({ ...servingTls(), allowHTTP1: true }, (request, response) => {
    const { rawHeaders } = request;
    const values = (name: string) =>
      rawHeaders.flatMap((each, at) =>
        at % 2 === 0 && each.toLowerCase() === name ? [rawHeaders[at + 1]] : [],
      );
    const who = { user: values('impersonate-user'), groups: values('impersonate-group') };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(who));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closedLater({ close: async () => void server.close() });
  const kubeconfig = join(useFolder(), 'kubeconfig');
  const cluster = {
    server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    'insecure-skip-tls-verify': true,
  };
  const named = { name: 'a', cluster, user: { token: 't' }, context: { cluster: 'a', user: 'a' } };
  const lists = { clusters: [named], users: [named], contexts: [named] };
  writeFileSync(kubeconfig, JSON.stringify({ ...lists, 'current-context': 'a' }));
  return kubeconfig;
}

/** The flags of a command line of kubectl kpw. */
function flagsOf(line: string): Parameters<typeof userKubeconfig>[0] {
  const parsed = parseCommandLine(KUBECTL_KPW, line.split(' '));
  return 'call' in parsed ? parsed.call.flags : {};
}

test.each([
  ['status', { user: [], groups: [] }],
  ['status --as bob', { user: ['bob'], groups: [] }],
  // Over HTTP/2 they would be one group with a comma in its name.
  ['status --as bob --as-group dev --as-group ops', { user: ['bob'], groups: ['dev', 'ops'] }],
  ['simulate --as bob --as-group dev', { user: ['bob'], groups: ['dev'] }],
])('with %s the API server gets %j', async (line, expected) => {
  const identity = userKubeconfig({ ...flagsOf(line), kubeconfig: await startWhoAmI() });
  const who = await withKubeClient(identity, (client) => client.get('/', 'ask'));
  expect(who).toEqual(expected);
});

test.each(['status', 'explain --all-nodes', 'simulate'])(
  '%s with groups and without a user is wrong, as with kubectl',
  async (line) => {
    const printed = await transcriptOf(KUBECTL_KPW, `${line} --kubeconfig /none --as-group dev`);
    expect(printed).toBe('\nkubectl kpw: --as-group needs --as\nexit code 2\n');
  },
);
