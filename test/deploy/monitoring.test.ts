import { beforeAll, describe, expect, test } from '@jest/globals';
import { dump, load } from 'js-yaml';
import { runCommand } from '../e2e/support/run-command.ts';
import { writeAside } from './support/overlay.ts';
import { readText, repository } from './support/repository.ts';
import { ensureTools, type Tools } from './support/tools.ts';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const folder = 'manifests/monitoring';
const dashboard = JSON.parse(readText(`${folder}/dashboard.json`)) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
};
const alerts = load(readText(`${folder}/alerts.yaml`)) as {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
};
const names = alerts.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
let tools: Tools;

beforeAll(async () => {
  tools = await ensureTools();
}, 600_000);

async function promtool(...args: string[]): Promise<string> {
  return await runCommand(tools.promtool, args, { cwd: repository });
}

describe('alert rules', () => {
  test('are valid, and promtool has nothing to complain about', async () => {
    const said = await promtool('check', 'rules', '--lint-fatal', `${folder}/alerts.yaml`);
    expect(said).toContain(`SUCCESS: ${names.length} rules found`);
  });

  test('fire when they should, and only then', async () => {
    await promtool('test', 'rules', `${folder}/alerts.test.yaml`);
  });

  test.each(names)('%s has a test in which it fires', (name) => {
    const { tests } = load(readText(`${folder}/alerts.test.yaml`)) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const fires = tests
      .flatMap((each) => each.alert_rule_test)
      .filter(({ alertname, exp_alerts }) => alertname === name && exp_alerts.length > 0);
    expect(fires).not.toEqual([]);
  });
});

describe('the dashboard', () => {
  const panels = dashboard.panels.filter(({ type }) => type !== 'row');
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

  test('asks nothing but valid PromQL', async () => {
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

  test('heeds the choice of nodes in each panel, and uses no variable that it does not have', () => {
    const known = dashboard.templating.list.map(({ name }) => name);
    for (const expr of expressions) {
      expect(expr).toContain('instance=~"$instance"');
      const used = [...expr.matchAll(/\$(\w+)/g)].map(([, name]) => name ?? '');
      expect([...known, '__rate_interval']).toEqual(expect.arrayContaining(used));
    }
  });

  test('has panels that do not lie on each other, with ids and titles of their own', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const key of ['id', 'title'] as const) {
      expect(new Set(dashboard.panels.map((panel) => panel[key])).size).toBe(
        dashboard.panels.length,
      );
    }
    expect(dashboard.panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });
});
