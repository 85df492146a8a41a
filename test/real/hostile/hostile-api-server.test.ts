import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { kubeconfigFor } from '../../../fake-apiserver/kubeconfig.ts';
import { getStatus } from '../../../harness/api-server/http-status.ts';
import {
  type EndlessKind,
  startEndlessApiServer,
} from '../../../harness/hostile/endless-api-server.ts';
import { startHostWrapper } from '../../../harness/hostile/host-wrapper.ts';
import { send } from '../../../harness/hostile/http.ts';
import { startLikeKubeProxy } from '../../../harness/hostile/kube-proxy-queries.ts';
import { startProber } from '../../../harness/hostile/prober.ts';
import { report } from '../../../harness/hostile/report.ts';
import { waitUntilReady } from '../../../harness/process/managed-process.ts';
import { peakMegabytes } from '../../../harness/process/process-figures.ts';

jest.setTimeout(600_000);

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
    writeFileSync(kubeconfig, kubeconfigFor(server.url));
    const wrapper = await startHostWrapper({ kubeconfig, nodeName: 'here', wait: false });
    const { process, url, adminUrl } = wrapper;
    try {
      await waitUntilReady(process, async () => (await getStatus(`${adminUrl}/healthz`)) === 200);
      const prober = startProber(adminUrl);
      const start = performance.now();
      // Its queries open the views, of which each gets a list without an end.
      const answers = [
        startLikeKubeProxy(url, 'here').then(({ statuses }) => statuses),
        send(`${url}/api/v1/services`).then(({ status }) => status),
        send(`${url}/api/v1/endpoints`).then(({ status }) => status),
      ];
      const statuses = (await Promise.all(answers)).flat();
      await sleep(Math.max(0, start + ATTACK_MS - performance.now()));
      const peak = peakMegabytes(process.pid);
      const { failed, probes } = await prober.stop();
      const readyz = await wrapper.admin('/readyz');
      report('F14', `${kind}: ${peak} MB at most, ${failed} of ${probes} probes failed`);
      expect(process.ending()).toBeUndefined();
      expect(peak).toBeLessThanOrEqual(512);
      expect(readyz.status).toBe(503);
      expect(readyz.body).toMatch(
        /^\[-\].*(max\w+|bytes|too large|exceed|malformed|encod|gzip|not a list|is no )/im,
      );
      expect(statuses).not.toContain(200);
      // Kubelet ends a process after three failures in a row, 10 s apart.
      expect(failed / probes).toBeLessThan(0.05);
    } finally {
      await wrapper.stop();
      await server.close();
    }
  },
);
