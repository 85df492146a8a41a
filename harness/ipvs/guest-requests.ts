import type { IpvsNode } from './ipvs-node.ts';
import type { Machine } from './machine.ts';

/** How requests ended. */
export interface RequestCounts {
  readonly all: number;
  /** Refused or reset. */
  readonly refused: number;
  /** Not answered within 3 s. */
  readonly unanswered: number;
  /** Answered, after more than a second. */
  readonly slow: number;
  /** Seconds from the start of the first request that was none of the good ones to the end of the last one. */
  readonly seconds: number;
}

const FILES = '/tmp/requests';

/** Starts a web server in the machine, outside the node, which reaches it by its gateway. */
export async function startGuestServer(machine: Machine, at: string): Promise<void> {
  const folder = `${FILES}-served`;
  const commands = [
    `mkdir -p ${folder}`,
    `echo ok >${folder}/index.html`,
    `ip address add ${at.split(':')[0]}/32 dev lo`,
    `busybox httpd -p ${at} -h ${folder}`,
  ];
  await machine.exec(commands.join(' && '));
}

/** Requests the URL from the node, one request after the other, until `stop`. */
export async function startGuestRequests({ exec }: IpvsNode, url: string) {
  // Not `wget -T`, which crashes in this image. Uptime has hundredths of seconds.
  const request = `read from rest </proc/uptime
    timeout 3 wget -q -O /dev/null ${url} 2>/dev/null
    code=$?
    read to rest </proc/uptime
    echo $from $to $code >>${FILES}`;
  await exec(`: >${FILES}; (while [ -e ${FILES} ]; do ${request}; done) >/dev/null 2>&1 &`);
  const read = async () => (await exec(`cat ${FILES}`)).trim().split('\n').map(parseRequest);
  return {
    /** How many of the last requests in a row were answered. */
    answered: async () => {
      const all = await read();
      return all.length - 1 - all.findLastIndex(({ code }) => code !== 0);
    },
    stop: async () => {
      const requests = await read();
      await exec(`rm ${FILES}`);
      return countRequests(requests);
    },
  };
}

interface GuestRequest {
  readonly from: number;
  readonly to: number;
  readonly code: number;
}

function parseRequest(line: string): GuestRequest {
  const [from = 0, to = 0, code = 0] = line.split(' ').map(Number);
  return { from, to, code };
}

function countRequests(requests: readonly GuestRequest[]): RequestCounts {
  const took = ({ from, to }: GuestRequest) => to - from;
  const isSlow = (request: GuestRequest) => request.code === 0 && took(request) > 1;
  const isLate = (request: GuestRequest) => request.code !== 0 && took(request) >= 3;
  const bad = requests.filter((request) => request.code !== 0 || isSlow(request));
  const unanswered = bad.filter(isLate).length;
  const slow = bad.filter(isSlow).length;
  return {
    all: requests.length,
    refused: bad.length - unanswered - slow,
    unanswered,
    slow,
    seconds: (bad.at(-1)?.to ?? 0) - (bad[0]?.from ?? 0),
  };
}
