import { describe, expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { anchorsOf, sectionOf } from '../../../harness/deploy/documents.ts';
import {
  alertNames,
  alertRules,
  dashboard,
  expressions,
  monitoring,
} from '../../../harness/deploy/monitoring.ts';
import { readText } from '../../../harness/deploy/repository.ts';

describe('alert rules', () => {
  test.each(alertNames)('%s has a test in which it fires', (name) => {
    const { tests } = load(readText(`${monitoring}/alerts.test.yaml`)) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const fires = tests
      .flatMap((each) => each.alert_rule_test)
      .filter(({ alertname, exp_alerts }) => alertname === name && exp_alerts.length > 0);
    expect(fires).not.toEqual([]);
  });
});

describe('the runbook of an alert', () => {
  test.each(alertRules.map(({ alert, annotations }) => [alert, annotations.runbook] as const))(
    '%s is a section of a page about operations, which names the alert',
    (alert, runbook = '') => {
      expect(runbook).toMatch(/^docs\/operations-[a-z-]+\.md#/);
      const [page = '', anchor = ''] = runbook.split('#');
      expect(anchorsOf(page)).toContain(anchor);
      expect(sectionOf(page, anchor)).toContain(`\`${alert}\``);
    },
  );
});

describe('the dashboard', () => {
  test('applies the selected nodes in each panel, and uses only variables that it has', () => {
    const known = dashboard.templating.list.map(({ name }) => name);
    for (const expr of expressions) {
      expect(expr).toContain('instance=~"$instance"');
      const used = [...expr.matchAll(/\$(\w+)/g)].map(([, name]) => name ?? '');
      expect([...known, '__rate_interval']).toEqual(expect.arrayContaining(used));
    }
  });
});
