import type { NodeStatus } from '../../src/admin/status/status-line.ts';
import type { WrapperError } from '../../src/errors.ts';
import type { WrapperNode } from './wrapper-pods.ts';

/** A node, and what its wrapper answered: its status, or why there is none. Neither: no Pod runs. */
export interface AskedNode extends WrapperNode {
  readonly status?: NodeStatus;
  readonly failure?: WrapperError;
}
