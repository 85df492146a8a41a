import { TEXT_HEADERS } from './admin-handler.ts';
import type { Answer } from './answer.ts';
import type { Metrics } from './metrics/metrics.ts';
import { metricsText } from './metrics/metrics-text.ts';

/** Answers /metrics. */
export function metricsRoute(metrics: Metrics): () => Promise<Answer> {
  const text = metricsText(metrics);
  const headers = { ...TEXT_HEADERS, 'content-type': metrics.registry.contentType };
  return async () => ({ headers, body: await text.get() });
}
