import type { NodeStatus } from '../../src/admin/status/status-line.ts';
import { WrapperError } from '../../src/errors.ts';
import type { AdminClient } from './admin-client.ts';

/** Reads whether it is well on the node of a wrapper. Throws `Unreachable`. */
export async function readNodeStatus(admin: AdminClient): Promise<NodeStatus> {
  try {
    return await admin.request<NodeStatus>('/status');
  } catch (error) {
    if (!(error instanceof WrapperError) || error.code !== 'NotFound') throw error;
    const what = 'the wrapper has no /status: it is older than 1.1';
    throw new WrapperError('NotFound', what, { cause: error });
  }
}
