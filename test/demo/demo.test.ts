import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const ROOT = new URL('../..', import.meta.url).pathname;

interface Output {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

/** Runs the demo, and types these lines after its tour; without lines: standard input is empty. */
async function runDemo(flags: readonly string[], lines: readonly string[] = []): Promise<Output> {
  const child = spawn(process.execPath, ['src/main.ts', 'demo', ...flags], {
    cwd: ROOT,
    env: { ...process.env, TMPDIR: folder },
  });
  child.stdin.end(lines.map((line) => `${line}\n`).join(''));
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, out, errors };
}

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kube-proxy-wrapper-test-'));
});

afterAll(() => rm(folder, { recursive: true }));

/** The shown addresses of the last table. */
function shownIn(out: string): string[] {
  const [table = ''] = out.split('ENDPOINT  ').slice(-1);
  const rows = table.matchAll(/^ {2}[ +~-] {2}(?:now )?yes +(10\.[0-9.]+) /gm);
  return [...rows].map(([, address = '']) => address);
}

/** What a line printed, up to the next one. */
function answerOf(out: string, line: string): string {
  return out.split(`demo> ${line}\n`)[1]?.split('demo> ')[0] ?? 'not found';
}

describe('kube-proxy-wrapper demo', () => {
  test('shows the effect of each command, and the error of an invalid one', async () => {
    const lines = [
      'annotate web topologyKeys=["site"]',
      'label nobody site=x',
      'fly',
      'label edge-3 x=y',
      'annotate web topologyKeys=[site]',
      'explain dns',
      'node edge-3',
      'show nearby-only',
      'help',
    ];
    const { code, out, errors } = await runDemo([], [...lines, 'quit', 'after the end']);
    expect([code, errors]).toEqual([0, '']);
    const answers = lines.map((line) => answerOf(out, line));
    const [annotated = '', unknownNode, unknown, nothing, invalid, explained, moved = ''] = answers;
    expect(annotated).toMatch(/^ {2}\+ {2}now yes {2}10\.244\.2\.10 .* site matches, and has /m);
    expect(shownIn(annotated)).toEqual(['10.244.1.10', '10.244.2.10']);
    expect(unknownNode).toContain('there is no node nobody. The nodes are cloud-1');
    expect(unknown).toContain('! unknown command "fly"');
    expect(nothing).toContain('edge-1 (site=a): nothing has changed for this node');
    expect(invalid).toContain('! the wrapper warns: the topology policy is invalid');
    expect(explained).toMatch(/kube-system\/dns on node edge-1: FILTERED, 1 of 4 endpoints/);
    expect(moved).toContain('edge-3 (site=b, x=y): ');
    expect(shownIn(moved)).toContain('10.244.3.53');
    expect(answers.at(-2)).toContain('default/nearby-only');
    expect(answers.at(-1)).toContain('annotate web topologyKeys=prefer-same-node');
    expect(out).not.toContain('after the end');
    expect(out).not.toMatch(/^\{/m);
    expect(await readdir(folder)).toEqual([]);
  });

  test('takes a tour that moves the node to another site and back, and marks what changes', async () => {
    const { code, out } = await runDemo(['--once']);
    expect(code).toBe(0);
    const [, away = '', ...others] = out.split('\n> ');
    expect(away).toMatch(/^label edge-1 site=b/);
    expect(away).toMatch(/^ {2}\+ {2}now yes {2}10\.244\.102\.20 /m);
    expect(away).toContain('+ is shown from now on, - is not shown any more');
    expect(others.at(-1)).toMatch(/^ {2}- {2}now no +10\.244\.102\.20 /m);
    expect(shownIn(out.split('\nA tour of')[0] ?? '')).not.toContain('10.244.102.20');
  });

  // It crashed 5 times of 5: a timer used the wrapper before it was assigned, and 503 was fatal.
  test('starts with 10,000 Services from standard input, and says what it ignores', async () => {
    const child = spawn(process.execPath, ['src/main.ts', 'demo', '--cluster', '-', '--once'], {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.end(JSON.stringify(bigCluster(10_000, 20)));
    const [out, errors, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    expect([code, errors]).toEqual([0, '']);
    expect(out).toContain('Reading standard input');
    expect(out).toContain('A cluster in memory: 20 nodes, 10,000 Services.');
    expect(out).toContain('ignored, because no policy depends on them: 1 Secret');
    expect(out).toContain('edge-1 (site=s1): 16,000 of 40,000 endpoints are shown to kube-proxy');
    expect(out.split('\n').length).toBeLessThan(50);
    expect(out).not.toMatch(/^\{/m);
  }, 120_000);

  // A run that did not end with `quit` once left a folder with a kubeconfig.
  test('leaves no file if it is interrupted', async () => {
    const child = spawn(process.execPath, ['src/main.ts', 'demo'], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: folder },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    for await (const chunk of child.stdout) if (String(chunk).includes('ENDPOINT  ')) break;
    child.kill('SIGINT');
    await once(child, 'exit');
    expect(await readdir(folder)).toEqual([]);
  });

  test.each([
    [['--node', 'nobody'], 1, /there is no node nobody\. The nodes are cloud-1, .*edge-1.*\n$/],
    [
      ['--cluster', 'none.yaml'],
      1,
      /no file none\.yaml\. Save your cluster with: kubectl get .*\n$/,
    ],
    [['--clusters', 'x'], 2, /unknown option '--clusters' \(Did you mean --cluster\?\)/],
  ])(
    '%j is answered in one line that names the way out',
    async (flags, expected, message) => {
      const { code, errors } = await runDemo(flags);
      expect([code, errors.split('\n').length]).toEqual([expected, 2]);
      expect(errors).toMatch(message);
      expect(await readdir(folder)).toEqual([]);
    },
    30_000,
  );
});

/** Four endpoints a Service, in sites of four nodes; three Services of four have a policy; and a Secret. */
function bigCluster(services: number, nodes: number) {
  const items: unknown[] = [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }];
  for (let index = 1; index <= nodes; index++) {
    const name = `edge-${index}`;
    const labels = { 'kubernetes.io/hostname': name, site: `s${Math.ceil(index / 4)}` };
    items.push({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
  }
  for (let index = 0; index < services; index++) {
    const about = { name: `svc-${index}`, namespace: `team-${index % 50}` };
    const annotations = index % 4 === 0 ? {} : { topologyKeys: '["site"]' };
    const spec = { clusterIP: `10.96.${index >> 8}.${index & 255}`, ports: [{ port: 80 }] };
    items.push({ apiVersion: 'v1', kind: 'Service', metadata: { ...about, annotations }, spec });
    items.push({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      addressType: 'IPv4',
      metadata: { ...about, labels: { 'kubernetes.io/service-name': about.name } },
      ports: [{ port: 8080 }],
      endpoints: [1, 6, 11, 16].map((node) => ({
        addresses: [`10.${node}.${index >> 8}.${index & 255}`],
        nodeName: `edge-${((node + index) % nodes) + 1}`,
      })),
    });
  }
  return { apiVersion: 'v1', kind: 'List', items };
}
