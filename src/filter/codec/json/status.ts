import type { Status, StatusCause } from '../../../errors.ts';
import { type Fields, fields, list, number, text } from './fields.ts';

/** Reads an object of kind Status. */
export function readStatus(status: Fields): Status {
  const details = fields(status, 'details');
  const retryAfterSeconds = number(details, 'retryAfterSeconds');
  const causes = list(details, 'causes').map((cause) => ({
    reason: text(cause, 'reason'),
    message: text(cause, 'message'),
  }));
  return {
    code: number(status, 'code'),
    reason: text(status, 'reason'),
    message: text(status, 'message'),
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
    ...(causes.length === 0 ? {} : { causes }),
  };
}

/** Writes a Status with the members that a kube-apiserver writes: Go omits empty ones (`omitempty`). */
export function writeStatus(status: Status): string {
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: status.message || undefined,
    reason: status.reason || undefined,
    details: writeDetails(status),
    code: status.code || undefined,
  });
}

function writeDetails({ causes, retryAfterSeconds, subject }: Status): object | undefined {
  if ((causes ?? retryAfterSeconds ?? subject) === undefined) return undefined;
  return {
    name: subject?.name || undefined,
    group: subject?.group || undefined,
    kind: subject?.kind || undefined,
    causes: causes?.map(writeCause),
    retryAfterSeconds: retryAfterSeconds || undefined,
  };
}

function writeCause(cause: StatusCause): {
  reason: string | undefined;
  message: string | undefined;
} {
  return { reason: cause.reason || undefined, message: cause.message || undefined };
}
