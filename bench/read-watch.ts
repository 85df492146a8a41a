/** Reads a watch with undici and throws its bytes away: the least that a watch costs a Node process. */
import { readFileSync } from 'node:fs';
import { Client } from 'undici';

const [server = '', caFile = '', path = ''] = process.argv.slice(2);
const client = new Client(server, {
  allowH2: true,
  bodyTimeout: 0,
  connect: { ca: readFileSync(caFile) },
});
const { statusCode, body } = await client.request({
  method: 'GET',
  path,
  headers: {
    accept: 'application/vnd.kubernetes.protobuf;stream=watch',
    authorization: `Bearer ${process.env.TOKEN}`,
  },
});
if (statusCode !== 200) throw new Error(`the API server answered ${statusCode}`);
body.on('data', () => {});
