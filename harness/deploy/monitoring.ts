import { load } from 'js-yaml';
import { readText } from './repository.ts';

interface Panel {
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

/** Where alert rules and dashboard are, from the root. */
export const monitoring = 'manifests/monitoring';

export const dashboard = JSON.parse(readText(`${monitoring}/dashboard.json`)) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
};

/** All PromQL of the dashboard. */
export const expressions = dashboard.panels
  .filter(({ type }) => type !== 'row')
  .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

export interface AlertRule {
  readonly alert: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const alerts = load(readText(`${monitoring}/alerts.yaml`)) as {
  readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
};

export const alertRules = alerts.groups.flatMap(({ rules }) => rules);
/** Names of the alerts. */
export const alertNames = alertRules.map(({ alert }) => alert);
