/** Files that the chart has too, because helm reads only files of the chart: each with its name there. */
export const CHART_COPIES = {
  'manifests/monitoring/alerts.yaml': 'monitoring/alerts.yaml',
  'manifests/monitoring/dashboard.json': 'monitoring/dashboard.json',
  'manifests/components/admission-policy/policy.yaml': 'admission-policy/policy.yaml',
};
