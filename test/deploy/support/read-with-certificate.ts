/**
 * Reads Services over https with a client certificate, and prints the status:
 * `read-with-certificate.ts URL CA-FILE FILE`, where FILE holds certificate and key.
 */
import { readFileSync } from 'node:fs';
import { request } from 'node:https';

const [url = '', caFile = '', file = ''] = process.argv.slice(2);
const own = readFileSync(file, 'utf8');
const options = { ca: readFileSync(caFile), cert: own, key: own };
request(`${url}/api/v1/services`, options, (response) => {
  process.stdout.write(String(response.statusCode));
  response.resume();
}).end();
