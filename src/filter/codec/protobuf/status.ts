import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Status, StatusCause } from '../../../errors.ts';
import { FieldCursor } from './field-cursor.ts';

/** Fields of Status, StatusDetails and StatusCause (apimachinery meta/v1/generated.proto). */
const STATUS = { metadata: 1, status: 2, message: 3, reason: 4, details: 5, code: 6 } as const;
const DETAILS = { name: 1, group: 2, kind: 3, causes: 4, retryAfterSeconds: 5, uid: 6 } as const;
const CAUSE = { reason: 1, message: 2, field: 3 } as const;

/** An empty ListMeta as an apiserver writes it: selfLink, resourceVersion and continue, all empty. */
const EMPTY_LIST_META = Buffer.from('0a0012001a00', 'hex');

interface StatusDraft {
  code: number;
  reason: string;
  message: string;
  retryAfterSeconds: number;
  readonly causes: StatusCause[];
}

/** Reads the message of a Status. */
export function readStatus(message: Buffer, base: number): Status {
  const draft: StatusDraft = { code: 0, reason: '', message: '', retryAfterSeconds: 0, causes: [] };
  const status = FieldCursor.over(message, 0, base);
  while (status.next()) {
    switch (status.field) {
      case STATUS.message:
        draft.message = status.text();
        break;
      case STATUS.reason:
        draft.reason = status.text();
        break;
      case STATUS.details:
        readDetails(status.enter(), draft);
        break;
      case STATUS.code:
        draft.code = status.int32();
        break;
    }
  }
  const { retryAfterSeconds, causes, ...rest } = draft;
  return {
    ...rest,
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
    ...(causes.length === 0 ? {} : { causes }),
  };
}

function readDetails(details: FieldCursor, draft: StatusDraft): void {
  while (details.next()) {
    if (details.field === DETAILS.causes) draft.causes.push(readCause(details.enter()));
    if (details.field === DETAILS.retryAfterSeconds) draft.retryAfterSeconds = details.int32();
  }
}

function readCause(cause: FieldCursor): StatusCause {
  let reason = '';
  let message = '';
  while (cause.next()) {
    if (cause.field === CAUSE.reason) reason = cause.text();
    if (cause.field === CAUSE.message) message = cause.text();
  }
  return { reason, message };
}

/** Encodes a Status with the fields that a kube-apiserver writes, including empty texts. */
export function writeStatus(status: Status): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(STATUS.metadata, WireType.LengthDelimited).bytes(EMPTY_LIST_META);
  writeText(writer, STATUS.status, 'Failure');
  writeText(writer, STATUS.message, status.message);
  writeText(writer, STATUS.reason, status.reason);
  if ((status.causes ?? status.retryAfterSeconds ?? status.subject) !== undefined) {
    writer.tag(STATUS.details, WireType.LengthDelimited).fork();
    writeDetails(writer, status);
    writer.join();
  }
  return writer.tag(STATUS.code, WireType.Varint).int32(status.code).finish();
}

function writeDetails(writer: BinaryWriter, { causes, retryAfterSeconds, subject }: Status): void {
  writeText(writer, DETAILS.name, subject?.name ?? '');
  writeText(writer, DETAILS.group, subject?.group ?? '');
  writeText(writer, DETAILS.kind, subject?.kind ?? '');
  for (const cause of causes ?? []) {
    writer.tag(DETAILS.causes, WireType.LengthDelimited).fork();
    writeText(writer, CAUSE.reason, cause.reason);
    writeText(writer, CAUSE.message, cause.message);
    writeText(writer, CAUSE.field, '');
    writer.join();
  }
  writer.tag(DETAILS.retryAfterSeconds, WireType.Varint).int32(retryAfterSeconds ?? 0);
  writeText(writer, DETAILS.uid, '');
}

function writeText(writer: BinaryWriter, field: number, text: string): void {
  writer.tag(field, WireType.LengthDelimited).string(text);
}
