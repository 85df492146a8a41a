import { readFileSync } from 'node:fs';
import { startControlPlane } from '../../../harness/api-server/control-plane.ts';
import { describeApiServer } from '../../support/fake-apiserver/api-server-contract.ts';

// The fake API server passes the same contract: test/fake-apiserver/contract.integration.test.ts.
describeApiServer(async () => {
  const plane = await startControlPlane();
  return {
    url: plane.server,
    headers: { authorization: `Bearer ${plane.tokens.admin}` },
    ca: readFileSync(plane.caFile, 'utf8'),
    // Its watch cache is empty then.
    forgetHistory: async () => await plane.apiServer.restart(),
    stop: async () => await plane.stop(),
  };
});
