import { type Decision, decide } from '../../../src/topology/decide/decide.ts';

/** Decides about a Service that is not too large. */
export function decided(...input: Parameters<typeof decide>): Decision {
  const decision = decide(...input);
  if (decision === undefined) throw new Error('the Service is too large');
  return decision;
}
