// Loaded into the wrapper's process before it (`--import`): each answer names the process that gave it. Versions begin
// with the clock of their process, so they do not tell while it is wrong, and two share a port in a planned restart.
import { subscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { PROCESS_HEADER } from '../../support/recorder/exchange.ts';

const name = `${process.pid} since ${performance.timeOrigin}`;

subscribe('http.server.request.start', (message) => {
  const { response } = message as { readonly response: ServerResponse };
  response.setHeader(PROCESS_HEADER, name);
});
