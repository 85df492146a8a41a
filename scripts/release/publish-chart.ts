/**
 * Pushes the chart of pack.ts as an OCI artifact and signs it:
 *
 *   node scripts/release/publish-chart.ts .tmp/release
 *
 * Needs helm, cosign, and a login of both to ghcr.io. Name and digest go to $GITHUB_OUTPUT.
 */
import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { chartFile } from './chart.ts';
import { readProject } from './project.ts';
import { capture, run } from './run.ts';

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('usage: node scripts/release/publish-chart.ts FOLDER');
const project = readProject();
const { name, charts } = project;
const file = chartFile(resolve(target), project);
const said = capture(process.env.HELM ?? 'helm', 'push', file, `oci://${charts}`);
const [digest] = /sha256:[0-9a-f]{64}/.exec(said) ?? [];
if (digest === undefined) throw new Error(`helm push printed no digest: ${said}`);
run('cosign', 'sign', '--yes', `${charts}/${name}@${digest}`);
const output = process.env.GITHUB_OUTPUT;
if (output) appendFileSync(output, `chart_name=${charts}/${name}\nchart_digest=${digest}\n`);
