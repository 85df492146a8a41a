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

/** Runs the demo with this standard input: lines that are typed after its tour. */
async function runDemo(line: string, input = ''): Promise<Output> {
  const child = spawn(process.execPath, ['cli/main.ts', ...line.split(' ')], {
    cwd: ROOT,
    env: { ...process.env, TMPDIR: folder },
  });
  child.stdin.end(input);
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
      'fly',
      'label edge-3 x=y',
      'annotate web topologyKeys=[site]',
      'explain dns',
      'node edge-3',
      'show nearby-only',
      'help',
    ];
    const typed = [...lines, 'quit', 'after the end'].join('\n');
    const { code, out, errors } = await runDemo('demo', typed);
    expect([code, errors]).toEqual([0, '']);
    const answers = lines.map((line) => answerOf(out, line));
    const [annotated = '', unknown, nothing, invalid, explained, moved = ''] = answers;
    expect(annotated).toMatch(/^ {2}\+ {2}now yes {2}10\.244\.2\.10 .* site matches, and has /m);
    expect(shownIn(annotated)).toEqual(['10.244.1.10', '10.244.2.10']);
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
    const { code, out } = await runDemo('demo --once');
    expect(code).toBe(0);
    const [, away = '', ...others] = out.split('\n> ');
    expect(away).toMatch(/^label edge-1 site=b/);
    expect(away).toMatch(/^ {2}\+ {2}now yes {2}10\.244\.102\.20 /m);
    expect(away).toContain('+ is shown from now on, - is not shown any more');
    expect(others.at(-1)).toMatch(/^ {2}- {2}now no +10\.244\.102\.20 /m);
    expect(shownIn(out.split('\nA tour of')[0] ?? '')).not.toContain('10.244.102.20');
  });

  test('the tour renames a zone, and boots a site without its link', async () => {
    const { out } = await runDemo('demo --once');
    const steps = out.split('\n> ');
    const first = steps.findIndex((each) => each.startsWith('label cloud-2 '));
    const [renamed = '', , , , , booted = '', unheard, heard = ''] = steps.slice(first);
    expect(renamed).toMatch(/^ {2}~ {2}yes +10\.244\.102\.53 +cloud-2 +zone matches/m);
    expect(booted).toContain('the snapshot on disk is used');
    expect(booted).toContain('edge-1 (site=a): nothing has changed for this node');
    expect(unheard).toContain('edge-1 (site=a): nothing has changed for this node');
    expect(heard).toMatch(/^ {2}\+ {2}now yes {2}10\.244\.102\.20 /m);
  });

  test('says why an outage cannot begin or end, and continues after a reboot without one', async () => {
    const lines = ['recover', 'reboot', 'label edge-1 site=b', 'outage', 'outage', 'quit'];
    const { code, out } = await runDemo('demo', lines.join('\n'));
    expect(code).toBe(0);
    expect(answerOf(out, 'recover')).toBe('! the API server works; outage lets it fail\n\n');
    expect(answerOf(out, 'label edge-1 site=b')).toContain('2 more than before');
    expect(out.split('demo> outage\n')[2]).toContain(
      '! the API server has failed already; recover',
    );
    expect(await readdir(folder)).toEqual([]);
  });

  // It crashed 5 times of 5: a timer used the wrapper before it was assigned, and 503 was fatal.
  test('starts with 10,000 Services from standard input, and says what it ignores', async () => {
    const cluster = JSON.stringify(bigCluster(10_000));
    const { code, out, errors } = await runDemo('demo --cluster - --once', cluster);
    expect([code, errors]).toEqual([0, '']);
    expect(out).toContain('Reading standard input');
    expect(out).toContain('A cluster in memory: 2 nodes, 10,000 Services.');
    expect(out).toContain('ignored, because no policy depends on them: 1 Secret');
    expect(out).toContain('edge-1 (site=a): 10,000 of 20,000 endpoints are shown to kube-proxy');
    expect(out.split('\n').length).toBeLessThan(50);
    expect(out).not.toMatch(/^\{/m);
  });

  // A run that did not end with `quit` once left a folder with a kubeconfig.
  test('leaves no file if it is interrupted', async () => {
    const child = spawn(process.execPath, ['cli/main.ts', 'demo'], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: folder },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    for await (const chunk of child.stdout) if (String(chunk).includes('ENDPOINT  ')) break;
    child.kill('SIGINT');
    await once(child, 'exit');
    expect(await readdir(folder)).toEqual([]);
  });

  test('an error is one line that names the way out', async () => {
    const { code, errors } = await runDemo('demo --node nobody');
    expect(code).toBe(1);
    expect(errors).toMatch(/^[^\n]*there is no node nobody\. The nodes are cloud-1, .*edge-1.*\n$/);
    expect(await readdir(folder)).toEqual([]);
  });
});

/** A Secret, two nodes, and Services with an endpoint on each of them and the policy to remain in the site. */
function bigCluster(services: number) {
  const items: object[] = [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }];
  for (const [name, site] of [
    ['edge-1', 'a'],
    ['edge-2', 'b'],
  ]) {
    items.push({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { site } } });
  }
  for (let index = 0; index < services; index++) {
    const about = { name: `svc-${index}`, namespace: 'team' };
    const annotations = { topologyKeys: '["site"]' };
    const spec = { clusterIP: `10.96.${index >> 8}.${index & 255}`, ports: [{ port: 80 }] };
    items.push({ apiVersion: 'v1', kind: 'Service', metadata: { ...about, annotations }, spec });
    items.push({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      addressType: 'IPv4',
      metadata: { ...about, labels: { 'kubernetes.io/service-name': about.name } },
      ports: [{ port: 8080 }],
      endpoints: [1, 2].map((node) => ({
        addresses: [`10.${node}.${index >> 8}.${index & 255}`],
        nodeName: `edge-${node}`,
      })),
    });
  }
  return { apiVersion: 'v1', kind: 'List', items };
}
