import { readFileSync } from 'node:fs';
import { describeApiServer } from '../support/embedded/api-server-contract.ts';
import { startControlPlane } from './support/control-plane.ts';

// The embedded API server passes the same contract: test/embedded/contract.integration.test.ts.
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
