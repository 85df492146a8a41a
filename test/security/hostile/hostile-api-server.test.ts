import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { getStatus } from '../../e2e/support/http-status.ts';
import { waitUntilReady } from '../../e2e/support/managed-process.ts';
import { cpuSeconds, peakMegabytes } from '../../e2e/support/process-figures.ts';
import { type EndlessKind, startEndlessApiServer } from './support/endless-api-server.ts';
import { plainKubeconfig } from './support/fake-scene.ts';
import { startHostWrapper } from './support/host-wrapper.ts';
import { send } from './support/http.ts';
import { startLikeKubeProxy } from './support/kube-proxy-queries.ts';
import { inWords, startProber } from './support/prober.ts';
import { report } from './support/report.ts';

jest.setTimeout(60_000);

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kpw-hostile-endless-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** How long each attack lasts, in milliseconds. */
const ATTACK_MS = 6_000;

test.each<EndlessKind>(['protobuf or JSON as asked', 'JSON always', 'a gzip bomb', 'one object'])(
  'F14: endless lists (%s) take no more than 512 MB',
  async (kind) => {
    const server = await startEndlessApiServer(kind);
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, plainKubeconfig(server.url, 'own'));
    const wrapper = await startHostWrapper({ kubeconfig, nodeName: 'here', wait: false });
    try {
      await waitUntilReady(
        wrapper.process,
        async () => (await getStatus(`${wrapper.adminUrl}/healthz`)) === 200,
      );
      const prober = startProber(wrapper.adminUrl);
      const start = performance.now();
      const before = cpuSeconds(wrapper.process.pid);
      // Its queries open the views, of which each gets a list without an end.
      const clients = ['1.36', '1.33'] as const;
      const seen = await Promise.all([
        ...clients.map(
          async (version) => (await startLikeKubeProxy(wrapper.url, 'here', version)).statuses,
        ),
        ...['services', 'endpoints'].map(
          async (name) => (await send(`${wrapper.url}/api/v1/${name}`)).status,
        ),
      ]);
      const statuses = seen.flat();
      await sleep(Math.max(0, start + ATTACK_MS - performance.now()));
      const seconds = (performance.now() - start) / 1000;
      const cores = (cpuSeconds(wrapper.process.pid) - before) / seconds;
      const peak = peakMegabytes(wrapper.process.pid);
      const figures = await prober.stop();
      const readyz = await wrapper.admin('/readyz');
      const reason = readyz.body
        .split('\n')
        .find((line) => /own-node|nodes/.test(line) && line.startsWith('[-]'));
      report(
        'F14',
        `${kind}: ${peak} MB at most, ${Math.round(cores * 100)} % of a core; ${server.requests()} requests, ${server.megabytes()} MB sent`,
      );
      report('F14', `${kind}: ${inWords(figures)}; clients get ${statuses}; readyz: ${reason}`);
      expect(wrapper.process.ending()).toBeUndefined();
      expect(peak).toBeLessThanOrEqual(512);
      expect(readyz.status).toBe(503);
      expect(readyz.body).toMatch(
        /^\[-\].*(max\w+|bytes|too large|exceed|malformed|encod|gzip|not a list|is no )/im,
      );
      expect(statuses).not.toContain(200);
      // Kubelet ends a process after three failures in a row, 10 s apart.
      expect(figures.failed / figures.probes).toBeLessThan(0.05);
    } finally {
      await wrapper.stop();
      await server.close();
    }
  },
);
