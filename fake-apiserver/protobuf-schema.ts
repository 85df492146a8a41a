/**
 * Field tables of the messages that this server encodes. A field is `number name type`, as in generated.proto of
 * k8s.io/api and k8s.io/apimachinery v0.36.3. The suffix of the type defines when Go's generated marshaller writes the
 * field:
 *
 * | suffix | Go type | written |
 * |---|---|---|
 * | none | a value | always, also when empty or zero |
 * | `?` | a pointer | when it is set |
 * | `[]` | a slice | once per entry |
 * | `{}` | a map with string keys | once per entry, sorted by key |
 *
 * Types without a table: string, bool, int32, int64, and those whose JSON form is not an object with the message's
 * fields: Time, IntOrString, FieldsV1, Quantity.
 */
const TABLES: Readonly<Record<string, string>> = {
  // --- k8s.io/apimachinery/pkg/apis/meta/v1
  ObjectMeta: `
    1 name string
    2 generateName string
    3 namespace string
    4 selfLink string
    5 uid string
    6 resourceVersion string
    7 generation int64
    8 creationTimestamp Time
    9 deletionTimestamp Time?
    10 deletionGracePeriodSeconds int64?
    11 labels string{}
    12 annotations string{}
    13 ownerReferences OwnerReference[]
    14 finalizers string[]
    17 managedFields ManagedFieldsEntry[]`,
  OwnerReference: `
    1 kind string
    3 name string
    4 uid string
    5 apiVersion string
    6 controller bool?
    7 blockOwnerDeletion bool?`,
  ManagedFieldsEntry: `
    1 manager string
    2 operation string
    3 apiVersion string
    4 time Time?
    6 fieldsType string
    7 fieldsV1 FieldsV1?
    8 subresource string`,
  ListMeta: `
    1 selfLink string
    2 resourceVersion string
    3 continue string
    4 remainingItemCount int64?`,
  PartialObjectMetadata: '1 metadata ObjectMeta',
  Status: `
    1 metadata ListMeta
    2 status string
    3 message string
    4 reason string
    5 details StatusDetails?
    6 code int32`,
  StatusDetails: `
    1 name string
    2 group string
    3 kind string
    4 causes StatusCause[]
    5 retryAfterSeconds int32
    6 uid string`,
  StatusCause: '1 reason string; 2 message string; 3 field string',
  Condition: `
    1 type string
    2 status string
    3 observedGeneration int64
    4 lastTransitionTime Time
    5 reason string
    6 message string`,

  // --- k8s.io/api/discovery/v1
  EndpointSlice: `
    1 metadata ObjectMeta
    2 endpoints Endpoint[]
    3 ports SlicePort[]
    4 addressType string`,
  Endpoint: `
    1 addresses string[]
    2 conditions EndpointConditions
    3 hostname string?
    4 targetRef ObjectReference?
    5 deprecatedTopology string{}
    6 nodeName string?
    7 zone string?
    8 hints EndpointHints?`,
  EndpointConditions: '1 ready bool?; 2 serving bool?; 3 terminating bool?',
  EndpointHints: '1 forZones Named[]; 2 forNodes Named[]',
  // ForZone and ForNode of the original.
  Named: '1 name string',
  // EndpointPort of discovery; core has one of the same name with other fields.
  SlicePort: `
    1 name string?
    2 protocol string?
    3 port int32?
    4 appProtocol string?`,

  // --- k8s.io/api/core/v1
  ObjectReference: `
    1 kind string
    2 namespace string
    3 name string
    4 uid string
    5 apiVersion string
    6 resourceVersion string
    7 fieldPath string`,
  Endpoints: '1 metadata ObjectMeta; 2 subsets EndpointSubset[]',
  EndpointSubset: `
    1 addresses EndpointAddress[]
    2 notReadyAddresses EndpointAddress[]
    3 ports EndpointPort[]`,
  EndpointAddress: `
    1 ip string
    2 targetRef ObjectReference?
    3 hostname string
    4 nodeName string?`,
  EndpointPort: `
    1 name string
    2 port int32
    3 protocol string
    4 appProtocol string?`,
  Service: '1 metadata ObjectMeta; 2 spec ServiceSpec; 3 status ServiceStatus',
  ServiceSpec: `
    1 ports ServicePort[]
    2 selector string{}
    3 clusterIP string
    4 type string
    5 externalIPs string[]
    7 sessionAffinity string
    8 loadBalancerIP string
    9 loadBalancerSourceRanges string[]
    10 externalName string
    11 externalTrafficPolicy string
    12 healthCheckNodePort int32
    13 publishNotReadyAddresses bool
    14 sessionAffinityConfig SessionAffinityConfig?
    17 ipFamilyPolicy string?
    18 clusterIPs string[]
    19 ipFamilies string[]
    20 allocateLoadBalancerNodePorts bool?
    21 loadBalancerClass string?
    22 internalTrafficPolicy string?
    23 trafficDistribution string?`,
  ServicePort: `
    1 name string
    2 protocol string
    3 port int32
    4 targetPort IntOrString
    5 nodePort int32
    6 appProtocol string?`,
  SessionAffinityConfig: '1 clientIP ClientIPConfig?',
  ClientIPConfig: '1 timeoutSeconds int32?',
  ServiceStatus: '1 loadBalancer LoadBalancerStatus; 2 conditions Condition[]',
  LoadBalancerStatus: '1 ingress LoadBalancerIngress[]',
  LoadBalancerIngress: `
    1 ip string
    2 hostname string
    3 ipMode string?
    4 ports PortStatus[]`,
  PortStatus: '1 port int32; 2 protocol string; 3 error string?',
  // Only the fields of Node that kube-proxy reads, or that a server without kubelets can set.
  Node: '1 metadata ObjectMeta; 2 spec NodeSpec; 3 status NodeStatus',
  NodeSpec: `
    1 podCIDR string
    2 externalID string
    3 providerID string
    4 unschedulable bool
    5 taints Taint[]
    7 podCIDRs string[]`,
  Taint: `
    1 key string
    2 value string
    3 effect string
    4 timeAdded Time?`,
  NodeStatus: `
    1 capacity Quantity{}
    2 allocatable Quantity{}
    3 phase string
    4 conditions NodeCondition[]
    5 addresses NodeAddress[]
    6 daemonEndpoints NodeDaemonEndpoints
    7 nodeInfo NodeSystemInfo`,
  NodeCondition: `
    1 type string
    2 status string
    3 lastHeartbeatTime Time
    4 lastTransitionTime Time
    5 reason string
    6 message string`,
  NodeAddress: '1 type string; 2 address string',
  NodeDaemonEndpoints: '1 kubeletEndpoint DaemonEndpoint',
  DaemonEndpoint: '1 Port int32',
  NodeSystemInfo: `
    1 machineID string
    2 systemUUID string
    3 bootID string
    4 kernelVersion string
    5 osImage string
    6 containerRuntimeVersion string
    7 kubeletVersion string
    8 kubeProxyVersion string
    9 operatingSystem string
    10 architecture string`,

  Namespace: '1 metadata ObjectMeta; 2 spec NamespaceSpec; 3 status NamespaceStatus',
  NamespaceSpec: '1 finalizers string[]',
  NamespaceStatus: '1 phase string',

  // --- k8s.io/api/networking/v1
  ServiceCIDR: `
    1 metadata ObjectMeta
    2 spec ServiceCIDRSpec
    3 status ServiceCIDRStatus`,
  ServiceCIDRSpec: '1 cidrs string[]',
  ServiceCIDRStatus: '1 conditions Condition[]',
};

/** When a field is written; see {@link TABLES}. */
export type Presence = 'always' | 'optional' | 'list' | 'map';

/** One field of a message. */
export interface Field {
  readonly number: number;
  /** Name in JSON. */
  readonly name: string;
  /** A scalar, a special type, or the name of a message. */
  readonly type: string;
  readonly presence: Presence;
}

const PRESENCE: Readonly<Record<string, Presence>> = { '?': 'optional', '[]': 'list', '{}': 'map' };

function parseField(text: string): Field {
  const match = /^(\d+) (\w+) (\w+)(\?|\[\]|\{\})?$/.exec(text.trim());
  if (match === null) throw new Error(`no field: ${text}`);
  const [, number, name = '', type = '', suffix = ''] = match;
  return { number: Number(number), name, type, presence: PRESENCE[suffix] ?? 'always' };
}

/** Fields of each message by its name, in ascending order of their numbers. */
export const MESSAGES: ReadonlyMap<string, readonly Field[]> = new Map(
  Object.entries(TABLES).map(([name, table]) => [name, table.trim().split(/;|\n/).map(parseField)]),
);
