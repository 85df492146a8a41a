import { expect, jest, test } from '@jest/globals';
import { useHttps } from '../../support/wrapper/https-wrapper.ts';

// A caller that is known is not reviewed: nothing else may be asked of an API server that hangs.
test('a forwarded request that is not answered makes the wrapper ask the API server, one that is refused does not', async () => {
  const { proxy, api, ask } = await useHttps();
  const doubt = jest.spyOn(proxy.upstream, 'doubt');
  const authorization = 'Bearer ann';
  const codeOf = async (path: string) => (await ask(path, { headers: { authorization } })).code;
  expect(await codeOf('/version')).toBe(200);
  expect(await codeOf('http://example.com/version')).toBe(400);
  expect(doubt).not.toHaveBeenCalled();
  await api.close();
  expect(await codeOf('/version')).toBe(503);
  expect(doubt).toHaveBeenCalled();
});
