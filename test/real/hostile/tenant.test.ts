import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  annotateService,
  createService,
  createSlice,
} from '../../../harness/api-server/cluster-objects.ts';
import type { HostWrapper } from '../../../harness/hostile/host-wrapper.ts';
import { inLanes } from '../../../harness/hostile/http.ts';
import { startProber } from '../../../harness/hostile/prober.ts';
import { PORTS, type RealScene, startRealScene } from '../../../harness/hostile/real-scene.ts';
import { report } from '../../../harness/hostile/report.ts';
import { poll } from '../../../harness/poll.ts';
import { forbiddenIn, NASTY } from '../../support/forbidden-text.ts';

jest.setTimeout(600_000);

let scene: RealScene;
let wrapper: HostWrapper;

beforeAll(async () => {
  scene = await startRealScene();
  wrapper = await scene.start();
});

afterAll(async () => {
  await scene?.stop();
});

const ZONE = '["topology.kubernetes.io/zone","*"]';
const lines = (text: string): number => text.split('\n').length;

/** Waits until a page of the admin port has this text. */
async function shows(path: string, text: RegExp): Promise<void> {
  await poll(
    async () => (await wrapper.admin(path)).body,
    (body) => text.test(body),
    { what: `${text} in ${path}` },
  );
}

describe('F7: what a tenant writes comes out as data', () => {
  // The API server accepts neither a null byte nor half a surrogate pair.
  const tricky = NASTY.filter((each) => each.isWellFormed() && !each.includes('\0')).join('');

  beforeAll(async () => {
    const { admin } = scene.plane;
    // The same objects twice: `good` with harmless values in place of the tricks.
    const services = [
      ['evil', tricky, ZONE],
      ['evil-policy', tricky, `["site"${tricky}`],
      ['good', 'plain', ZONE],
      ['good-policy', 'plain', '["site", plain'],
    ] as const;
    for (const [name, note, topologyKeys] of services) {
      const annotations = { topologyKeys, note };
      await createService(admin, { name, annotations, ports: [{ port: 80 }] });
    }
    // Their slices come when all are decided, so that each Service has the same changes.
    for (const [name] of services) await shows(`/explain/default/${name}`, /"policy"/);
    await sleep(1_000);
    for (const [name, text] of services) {
      await createTrickySlice(name, text);
      await shows(`/explain/default/${name}`, /10\.244\.2\.2/);
    }
    // A decision that changes is in /decisions, and in explain.
    for (const name of ['evil', 'good']) {
      await annotateService(admin, name, { topologyKeys: '["site","*"]' });
      await shows(`/explain/default/${name}`, /"keys":\s*\["site"/);
      await annotateService(admin, name, { topologyKeys: ZONE });
      await shows(`/explain/default/${name}`, /"keys":\s*\["topology.kubernetes.io\/zone"/);
    }
  });

  test.each(
    ['explain', 'explain --diff'].flatMap((command) =>
      ['text', 'json', 'yaml'].map((format) => [command, format] as const),
    ),
  )('%s of one Service as %s', async (command, format) => {
    for (const service of ['', '-policy']) {
      const outputOf = async (name: string) => {
        const [verb = '', ...flags] = command.split(' ');
        return await wrapper.command(verb, `default/${name}${service}`, ...flags, '-o', format);
      };
      const [evil, good] = [await outputOf('evil'), await outputOf('good')];
      expect(forbiddenIn(evil)).toEqual([]);
      expect(good.length).toBeGreaterThan(20);
      // A difference names no zone.
      if (command === 'explain') expect(good).toContain('plain');
      // YAML folds long lines, and those that it has to quote it folds otherwise.
      if (format !== 'yaml') expect(lines(evil)).toBe(lines(good));
    }
  });

  test.each([
    'explain',
    'explain --warnings',
    'status',
    'simulate --kubeconfig KUBECONFIG',
    'simulate --kubeconfig KUBECONFIG -o json',
    'simulate --kubeconfig KUBECONFIG -o yaml',
  ])('%s of all Services', async (command) => {
    const kubeconfig = scene.plane.kubeconfig('wrapper');
    const text = await wrapper.command(...command.replace('KUBECONFIG', kubeconfig).split(' '));
    expect(text.length).toBeGreaterThan(20);
    expect(forbiddenIn(text)).toEqual([]);
    expect(text).not.toMatch(/^! all is well/m);
  });

  test.each(['/decisions', '/explain', '/readyz', '/metrics'])(
    '%s of the admin port',
    async (path) => {
      const { body } = await wrapper.admin(path);
      expect(body.length).toBeGreaterThan(2);
      expect(forbiddenIn(Buffer.from(body, 'latin1').toString('utf8'))).toEqual([]);
    },
  );

  test('the log', () => {
    expect(forbiddenIn(wrapper.process.log())).toEqual([]);
  });

  async function createTrickySlice(service: string, text: string): Promise<void> {
    await createSlice(scene.plane.admin, {
      name: `${service}-1`,
      service,
      ports: PORTS,
      endpoints: [1, 2].map((number) => ({
        addresses: [`10.244.2.${number}`],
        nodeName: 'near',
        zone: `zone-${text}`,
        targetRef: { kind: `Pod${text}`, namespace: `ns${text}`, name: `pod-${text}-${number}` },
        conditions: { ready: true },
      })),
    });
  }
});

test('F11: explanations of a Service of 20,000 endpoints and 100 ports delay no probe', async () => {
  const { admin } = scene.plane;
  const ports = Array.from({ length: 100 }, (_, index) => ({
    name: `p${index}`,
    port: 1000 + index,
  }));
  const annotations = { topologyKeys: '["site","*"]' };
  await createService(admin, { name: 'huge', annotations, ports });
  await inLanes([...Array(20).keys()], 4, async (slice) => {
    const endpoints = Array.from({ length: 1_000 }, (_, each) => ({
      addresses: [`10.${100 + slice}.${each >> 8}.${each & 255}`],
      nodeName: each % 2 === 0 ? 'near' : 'far',
      conditions: { ready: true },
    }));
    await createSlice(admin, { name: `huge-${slice}`, service: 'huge', endpoints, ports });
  });
  await sleep(3_000);
  const idle = startProber(wrapper.adminUrl);
  await sleep(3_000);
  const { slowestMs: idleMs } = await idle.stop();
  const prober = startProber(wrapper.adminUrl);
  await sleep(300);
  const times: number[] = [];
  for (let turn = 0; turn < 5; turn++) {
    const path = '/explain/default/huge';
    const { status, ms } = await wrapper.admin(path, { timeoutMs: 20_000, keepBytes: 0 });
    expect(status).toBe(200);
    times.push(ms);
  }
  await sleep(1_000);
  const { failed, slowestMs } = await prober.stop();
  report(
    'F11',
    `5 explanations in ${times.join(', ')} ms; slowest probe ${slowestMs} ms, ${idleMs} ms before`,
  );
  expect(failed).toBe(0);
  // On a slow or busy machine probes take longer without them, too.
  expect(slowestMs).toBeLessThanOrEqual(Math.max(250, 5 * idleMs));
});
