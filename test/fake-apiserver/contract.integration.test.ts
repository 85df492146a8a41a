import { createApiServer } from '../../fake-apiserver/api-server.ts';
import { describeApiServer } from '../support/fake-apiserver/api-server-contract.ts';

describeApiServer(async () => {
  const server = createApiServer({ initialResourceVersion: 100 });
  return {
    url: await server.listen(),
    headers: {},
    forgetHistory: async () => server.compact(),
    stop: async () => await server.close(),
  };
});
