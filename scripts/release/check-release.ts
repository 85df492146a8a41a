/**
 * Ends with 1 and the reasons if nothing may be published from this tag:
 *
 *   node scripts/release/check-release.ts v1.1.0 example/kube-proxy-wrapper
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, readManifest } from './project.ts';
import { releaseProblems } from './release-problems.ts';

const [tag = '', slug = ''] = process.argv.slice(2);
const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
const problems = releaseProblems({ manifest: readManifest(), changelog, tag, slug });
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
