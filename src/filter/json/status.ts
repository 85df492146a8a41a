import type { Status, StatusCause } from '../../errors.ts';
import type { JsonReader } from './json-reader.ts';

/** Consumes a Status; undefined when the object is of another kind. */
export function readStatus(reader: JsonReader): Status | undefined {
  let kind = '';
  let message = '';
  let reason = '';
  let code = 0;
  let details: Pick<Status, 'retryAfterSeconds' | 'causes'> = {};
  reader.object(() => {
    if (reader.keyIs('kind')) kind = reader.text();
    else if (reader.keyIs('message')) message = reader.text();
    else if (reader.keyIs('reason')) reason = reader.text();
    else if (reader.keyIs('details')) details = readDetails(reader);
    else if (reader.keyIs('code')) code = reader.number();
  });
  return kind === 'Status' ? { code, reason, message, ...details } : undefined;
}

function readDetails(reader: JsonReader): Pick<Status, 'retryAfterSeconds' | 'causes'> {
  let retryAfterSeconds = 0;
  let causes: StatusCause[] = [];
  reader.object(() => {
    if (reader.keyIs('retryAfterSeconds')) retryAfterSeconds = reader.number();
    else if (reader.keyIs('causes')) causes = readCauses(reader);
  });
  return {
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
    ...(causes.length === 0 ? {} : { causes }),
  };
}

function readCauses(reader: JsonReader): StatusCause[] {
  const causes: StatusCause[] = [];
  reader.array(() => {
    let reason = '';
    let message = '';
    reader.object(() => {
      if (reader.keyIs('reason')) reason = reader.text();
      else if (reader.keyIs('message')) message = reader.text();
    });
    causes.push({ reason, message });
  });
  return causes;
}

/** Writes a Status, member for member as an apiserver does: Go leaves empty ones out (`omitempty`). */
export function writeStatus(status: Status): string {
  const { causes, retryAfterSeconds } = status;
  const details =
    causes === undefined && retryAfterSeconds === undefined
      ? undefined
      : { causes: causes?.map(writeCause), retryAfterSeconds: retryAfterSeconds || undefined };
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: status.message || undefined,
    reason: status.reason || undefined,
    details,
    code: status.code || undefined,
  });
}

function writeCause(cause: StatusCause): {
  reason: string | undefined;
  message: string | undefined;
} {
  return { reason: cause.reason || undefined, message: cause.message || undefined };
}
