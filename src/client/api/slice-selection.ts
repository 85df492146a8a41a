import { WrapperError } from '../../errors.ts';
import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';
import { ENDPOINT_SLICES } from '../../filter/objects/resource.ts';
import {
  type LabelSelector,
  MAX_REQUIREMENTS,
  matchesLabels,
  parseLabelSelector,
  type Requirement,
} from '../../topology/policy/label-selector.ts';
import { HEADLESS_LABEL, PROXY_NAME_LABEL } from '../../topology/policy/service-reader.ts';
import type { Query } from './query.ts';

/**
 * A query that may select some slices of a Service and not others. A decision needs all slices, so the wrapper reads
 * more than the client requests, and selects after the decision.
 */
export interface SliceSelection {
  /** The query that has all slices of each Service of which the client selects any. */
  readonly whole: Query;
  /** Whether the client selects a slice. */
  readonly selects: (slice: Pick<PartialObjectMetadata, 'name' | 'labels'>) => boolean;
}

/**
 * Labels whose value is the same for all slices of a Service: the EndpointSlice controllers set them. Any other label
 * may differ, because slices may also be written by hand.
 */
const SHARED_LABELS: readonly string[] = [
  'kubernetes.io/service-name',
  HEADLESS_LABEL,
  PROXY_NAME_LABEL,
];
/** Requirements of a field selector; an API server knows these two fields of an EndpointSlice. */
const FIELD = /^(metadata\.(?:name|namespace))(==?|!=)([a-z0-9.-]+)$/;

type SelectsName = (name: string) => boolean;

/**
 * Returns how to answer a query, if it may divide the slices of a Service; undefined: the API server can evaluate its
 * selectors, as for any other query. Throws `BadRequest` for a selector that cannot be parsed.
 */
export function sliceSelectionOf(query: Query): SliceSelection | undefined {
  if (query.resource !== ENDPOINT_SLICES) return undefined;
  const labels = splitLabels(query.labelSelector);
  const fields = splitFields(query.fieldSelector);
  if (labels.own.length === 0 && fields.own.length === 0) return undefined;
  return {
    whole: { ...query, labelSelector: labels.shared, fieldSelector: fields.shared },
    selects: ({ name, labels: has }) =>
      matchesLabels(labels.own, has) && fields.own.every((selects) => selects(name)),
  };
}

/** Parts of a selector: those that all slices of a Service meet or none does, as text, and the others. */
function splitLabels(text: string): { readonly shared: string; readonly own: LabelSelector } {
  const requirements = text === '' ? [] : parseSliceSelector(text);
  const isShared = ({ key }: Requirement): boolean => SHARED_LABELS.includes(key);
  const shared = requirements.filter(isShared).map((each) => each.text);
  return { shared: shared.join(','), own: requirements.filter((each) => !isShared(each)) };
}

function parseSliceSelector(text: string): LabelSelector {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    const { message } = WrapperError.from(error, 'BadRequest');
    throw new WrapperError('BadRequest', message, { cause: error });
  }
}

function splitFields(text: string): {
  readonly shared: string;
  readonly own: readonly SelectsName[];
} {
  const shared: string[] = [];
  const own: SelectsName[] = [];
  const parts = text === '' ? [] : text.split(',');
  if (parts.length > MAX_REQUIREMENTS) {
    const message = `fieldSelector has more than ${MAX_REQUIREMENTS} requirements`;
    throw new WrapperError('BadRequest', message);
  }
  for (const part of parts) {
    const [, field, operator, value] = FIELD.exec(part) ?? [];
    if (field === undefined) {
      throw new WrapperError(
        'BadRequest',
        `fieldSelector ${JSON.stringify(part.slice(0, 200))} is not supported for EndpointSlices; select by metadata.name or metadata.namespace`,
      );
    }
    if (field === 'metadata.namespace') shared.push(part);
    else own.push((name) => (name === value) === (operator !== '!='));
  }
  return { shared: shared.join(','), own };
}
