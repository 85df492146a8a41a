import { beforeAll, describe, expect, test } from '@jest/globals';
import { dump } from 'js-yaml';
import { alertNames, expressions, monitoring } from '../../../../harness/deploy/monitoring.ts';
import { writeAside } from '../../../../harness/deploy/overlay.ts';
import { repository } from '../../../../harness/deploy/repository.ts';
import { type ChartTools, ensureChartTools } from '../../../../harness/deploy/tools.ts';
import { runCommand } from '../../../../harness/process/run-command.ts';

let tools: ChartTools;

beforeAll(async () => {
  tools = await ensureChartTools();
}, 600_000);

async function promtool(...args: string[]): Promise<string> {
  return await runCommand(tools.promtool, args, { cwd: repository });
}

describe('alert rules', () => {
  test('are accepted by promtool without a warning', async () => {
    const said = await promtool('check', 'rules', '--lint-fatal', `${monitoring}/alerts.yaml`);
    expect(said).toContain(`SUCCESS: ${alertNames.length} rules found`);
  });

  test('fire when they should, and only then', async () => {
    await promtool('test', 'rules', `${monitoring}/alerts.test.yaml`);
  });
});

describe('the dashboard', () => {
  test('uses only valid PromQL', async () => {
    const variables = { $instance: '.*', $job: '.*', $__rate_interval: '5m' };
    const rules = expressions.map((expr, index) => ({
      record: `panel:${index}`,
      expr: Object.entries(variables).reduce(
        (text, [name, value]) => text.replaceAll(name, value),
        expr,
      ),
    }));
    const text = dump({ groups: [{ name: 'dashboard', rules }] });
    const said = await writeAside({ text }, async (file) => await promtool('check', 'rules', file));
    expect(said).toContain(`SUCCESS: ${rules.length} rules found`);
  });
});
