import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { beforeEach, expect, test } from '@jest/globals';
import { kubeconfigFor } from '../../embedded/kubeconfig.ts';
import { checkIdentity } from '../../src/commands/node/check/check-identity.ts';
import { closedLater } from '../support/closed-later.ts';
import { startServer } from '../support/http/http-server.ts';
import { useFolder } from '../support/use-folder.ts';

let kubeconfig: string;
/** What the API server denies, as `verb resource`. */
let denied: string[];

interface Review {
  readonly spec: { readonly resourceAttributes: { verb: string; resource: string } };
}

beforeEach(async () => {
  const answer: RequestListener = async (request, response) => {
    // The check of the connection.
    if (request.method !== 'POST') {
      response.end('ok');
      return;
    }
    const { resourceAttributes } = ((await json(request)) as Review).spec;
    const { verb, resource } = resourceAttributes;
    const status = { allowed: !denied.includes(`${verb} ${resource}`) };
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ status }));
  };
  const server = closedLater(await startServer(answer));
  kubeconfig = join(useFolder(), 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(server.url.origin));
});

test('an identity with all rights passes', async () => {
  denied = [];
  const line = await checkIdentity(kubeconfig);
  expect(line).toMatchObject({
    state: 'ok',
    text: `${kubeconfig} has all rights that kube-proxy needs`,
  });
});

test('a failed check lists the missing rights and names the manifest', async () => {
  denied = ['watch nodes', 'create events', 'list servicecidrs'];
  expect(await checkIdentity(kubeconfig)).toMatchObject({
    state: 'problem',
    text: `${kubeconfig} may not watch nodes, list servicecidrs, create events`,
    next: expect.stringContaining('manifests/base/cluster-role.yaml'),
  });
});

// system:node-proxier grants them since 1.33, and an older kube-proxy does not need them.
test('missing rights for ServiceCIDRs alone are skipped, because an older kube-proxy does not need them', async () => {
  denied = ['list servicecidrs', 'watch servicecidrs'];
  expect(await checkIdentity(kubeconfig)).toMatchObject({
    state: 'unknown',
    text: expect.stringContaining('may not list servicecidrs, watch servicecidrs, which only'),
  });
});
