import type { Status, StatusCause } from '../../errors.ts';
import type { Cursor } from './cursor.ts';
import type { MessageValue } from './format.ts';
import { CAUSE, DETAILS, STATUS } from './schema.ts';

/** Reads an object of kind Status. */
export function readStatus(status: Cursor): Status {
  const draft = { code: 0, reason: '', message: '' };
  const causes: StatusCause[] = [];
  let retryAfterSeconds = 0;
  while (status.next()) {
    switch (status.field) {
      case STATUS.message:
        draft.message = status.text();
        break;
      case STATUS.reason:
        draft.reason = status.text();
        break;
      case STATUS.code:
        draft.code = status.number();
        break;
      case STATUS.details: {
        const details = status.enter();
        while (details.next()) {
          if (details.field === DETAILS.causes) causes.push(readCause(details.enter()));
          if (details.field === DETAILS.retryAfterSeconds) retryAfterSeconds = details.number();
        }
      }
    }
  }
  return {
    ...draft,
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
    ...(causes.length === 0 ? {} : { causes }),
  };
}

function readCause(cause: Cursor): StatusCause {
  let reason = '';
  let message = '';
  while (cause.next()) {
    if (cause.field === CAUSE.reason) reason = cause.text();
    if (cause.field === CAUSE.message) message = cause.text();
  }
  return { reason, message };
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
