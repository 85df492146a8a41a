import { z } from 'zod';
import { WrapperError } from '../errors.ts';
import { isLabelKey, isLabelValue } from '../topology/policy/label.ts';
import { parseLabelSelector } from '../topology/policy/label-selector.ts';
import {
  ANY_KEY,
  assertTopologyKeys,
  type KeyChoice,
  PRESETS,
} from '../topology/policy/topology-keys.ts';
import { parsed, positive } from './setting-types.ts';

/* The settings about policies that are more than one value. */

const presetNames = Object.keys(PRESETS);
const presetList = presetNames.join(', ');
/** An array of topology keys, or the name of a preset. */
export const keyChoice = z
  .union([z.array(z.string()).meta({ maxItems: 16 }), z.string().meta({ enum: presetNames })], {
    error: `must be an array of topology keys, or one of ${presetList}`,
  })
  .transform(
    parsed((choice): KeyChoice => {
      if (typeof choice !== 'string') {
        assertTopologyKeys(choice);
        return { keys: choice };
      }
      const preset = Object.hasOwn(PRESETS, choice) ? PRESETS[choice] : undefined;
      if (preset !== undefined) return preset;
      throw new WrapperError('InvalidSettings', `unknown preset; the presets are ${presetList}`);
    }),
  );

const labelKey = z.string().refine(isLabelKey, 'is not a label key');
const labelValue = z.string().min(1).refine(isLabelValue, 'is not a label value');
export const communities = z.strictObject({
  nodeLabels: z
    .array(labelKey)
    .default([])
    .describe('Node labels whose value is the name of the community.'),
  labelPrefix: z
    .string()
    .refine(
      (prefix) => prefix === '' || (prefix.includes('/') && isLabelKey(`${prefix}a`)),
      'is not a prefix of label keys, such as community.example.com/',
    )
    .default('community.kube-proxy-wrapper.io/')
    .describe(
      'Prefix of node labels `<prefix><community>: "true"`. If empty, such labels are not used.',
    ),
  labelValues: z
    .array(labelValue)
    .default([])
    .describe('Values that make a node label `<community>: <value>` a community.'),
  fabedgeCluster: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Name of this cluster in FabEdge's communities. The wrapper needs the right to watch them. If absent, they are not read.",
    ),
});

export const edge = z.strictObject({
  labelSelector: z
    .string()
    .transform(parsed(parseLabelSelector))
    .prefault('node-role.kubernetes.io/edge')
    .describe('Label selector of edge nodes.'),
});

export const cloud = z.strictObject({
  mode: z
    .enum(['endpoints', 'passthrough'])
    .default('endpoints')
    .describe(
      'What an edge node sees of a Service that sends all its traffic to the cloud: its endpoints (`endpoints`), or nothing (`passthrough`).',
    ),
});

export const serviceFilter = z.strictObject({
  mode: z
    .enum(['FilterIfLabelExists', 'FilterIfLabelDoesNotExists'])
    .describe("EdgeMesh's setting of the same name: which Services EdgeMesh leaves to kube-proxy."),
  label: labelKey
    .default('service.edgemesh.kubeedge.io/service-proxy-name')
    .describe('Label that `mode` refers to.'),
});

export const minReady = z
  .record(z.string(), positive)
  .refine(
    (counts) => Object.keys(counts).every((key) => key === ANY_KEY || isLabelKey(key)),
    'has a key that is not a topology key',
  );
