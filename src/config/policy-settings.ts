import * as v from 'valibot';
import { WrapperError } from '../errors.ts';
import { suggestion } from '../text/did-you-mean.ts';
import { isLabelKey, isLabelValue } from '../topology/policy/label.ts';
import { parseLabelSelector } from '../topology/policy/label-selector.ts';
import {
  assertTopologyKeys,
  isTopologyKey,
  type KeyChoice,
  PRESETS,
} from '../topology/policy/topology-keys.ts';
import { described, isMapping, mapping, nonEmpty, parsed, positive } from './setting-types.ts';

/* The settings about policies that are more than one value. */

const presetNames = Object.keys(PRESETS);
const presetList = presetNames.join(', ');
/** An array of topology keys, or the name of a preset. */
export const keyChoice = v.pipe(
  v.union(
    [
      v.pipe(v.array(v.string()), v.metadata({ maxItems: 16 })),
      v.pipe(v.string(), v.metadata({ enum: presetNames })),
    ],
    `must be an array of topology keys, or one of ${presetList}`,
  ),
  parsed((choice): KeyChoice => {
    if (typeof choice !== 'string') {
      assertTopologyKeys(choice);
      return { keys: choice };
    }
    const preset = Object.hasOwn(PRESETS, choice) ? PRESETS[choice] : undefined;
    if (preset !== undefined) return preset;
    const meant = suggestion(choice, presetNames);
    throw new WrapperError(
      'InvalidSettings',
      `unknown preset; the presets are ${presetList}.${meant}`,
    );
  }),
);

const labelKey = v.pipe(v.string(), v.check(isLabelKey, 'is not a label key'));
const labelValue = v.pipe(nonEmpty, v.check(isLabelValue, 'is not a label value'));
const labelPrefix = v.pipe(
  v.string(),
  v.check(
    (prefix) => prefix === '' || (prefix.includes('/') && isLabelKey(`${prefix}a`)),
    'is not a prefix of label keys, such as community.example.com/',
  ),
);

export const communities = mapping('communities', {
  nodeLabels: described(
    v.optional(v.array(labelKey), []),
    'Node labels whose value is the name of the community.',
  ),
  labelPrefix: described(
    v.optional(labelPrefix, 'community.kube-proxy-wrapper.io/'),
    'Prefix of node labels `<prefix><community>: "true"`. If empty, such labels are not used.',
  ),
  labelValues: described(
    v.optional(v.array(labelValue), []),
    'Values that make a node label `<community>: <value>` a community.',
  ),
  fabedgeCluster: described(
    v.optional(nonEmpty),
    "Name of this cluster in FabEdge's communities. The wrapper needs the right to watch them. If absent, they are not read.",
  ),
});

const labelSelector = v.pipe(v.string(), parsed(parseLabelSelector));
export const edge = mapping('edge', {
  labelSelector: described(
    v.optional(labelSelector, 'node-role.kubernetes.io/edge'),
    'Label selector of edge nodes.',
  ),
});

export const cloud = mapping('cloud', {
  mode: described(
    v.optional(v.picklist(['endpoints', 'passthrough']), 'endpoints'),
    'What an edge node sees of a Service that sends all its traffic to the cloud: its endpoints (`endpoints`), or nothing (`passthrough`).',
  ),
});

export const serviceFilter = mapping('serviceFilter', {
  mode: described(
    v.picklist(['FilterIfLabelExists', 'FilterIfLabelDoesNotExists']),
    "EdgeMesh's setting of the same name: which Services EdgeMesh leaves to kube-proxy.",
  ),
  label: described(
    v.optional(labelKey, 'service.edgemesh.kubeedge.io/service-proxy-name'),
    'Label that `mode` refers to.',
  ),
});

export const minReady = v.pipe(
  v.custom<object>(isMapping, 'must be a mapping'),
  v.record(v.string(), positive),
  v.check(
    (counts) => Object.keys(counts).every(isTopologyKey),
    'has a key that is not a topology key',
  ),
);
