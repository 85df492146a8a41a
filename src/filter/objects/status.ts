import type { Status } from '../../errors.ts';
import type { Cursor, MessageValue } from '../codec/cursor.ts';
import { readMessage } from './read-message.ts';
import { STATUS } from './schema.ts';

/** Reads an object of kind Status. */
export function readStatus(status: Cursor): Status {
  const { code, reason, message, details } = readMessage(status, STATUS);
  const { retryAfterSeconds } = details;
  const causes = details.causes.map((cause) => ({ reason: cause.reason, message: cause.message }));
  return {
    code,
    reason,
    message,
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
    ...(causes.length === 0 ? {} : { causes }),
  };
}

/** The value of a Status with the fields that a kube-apiserver writes, including empty ones. */
export function statusValue(status: Status): MessageValue {
  const { causes, retryAfterSeconds, subject } = status;
  const hasDetails = (causes ?? retryAfterSeconds ?? subject) !== undefined;
  return {
    metadata: { selfLink: '', resourceVersion: '', continue: '' },
    status: 'Failure',
    message: status.message,
    reason: status.reason,
    details: hasDetails ? detailsValue(status) : undefined,
    code: status.code,
  };
}

function detailsValue({ causes, retryAfterSeconds = 0, subject }: Status): MessageValue {
  return {
    name: subject?.name ?? '',
    group: subject?.group ?? '',
    kind: subject?.kind ?? '',
    causes: causes?.map(({ reason, message }) => ({ reason, message, field: '' })),
    retryAfterSeconds,
    uid: '',
  };
}
