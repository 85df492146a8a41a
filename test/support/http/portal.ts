import { createServer } from 'node:http';
import type { ForeignAnswer } from './foreign-answers.ts';

/** Something else that has the address of the API server: answers every request on a port in the same way. */
export async function startPortal(port: number, answer: ForeignAnswer) {
  const { statusCode, headers, body } = answer;
  const server = createServer((_request, response) => {
    response.writeHead(statusCode, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
