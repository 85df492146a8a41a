/**
 * Events of a kube-proxy on the node edge-1, written by client-go 0.36.3's own serializers (k8s.io/api EncoderForVersion).
 * What their objects hold is from kubernetes cmd/kube-proxy/app/server.go and, in core v1, from Kubernetes 1.18.
 */
export interface KubeProxyEvent {
  readonly title: string;
  readonly path: string;
  readonly protobuf: Buffer;
  readonly json: string;
}

const NODE_EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
const TIME = '2026-11-22T10:00:00.123456Z';
const UNSET = {
  deprecatedSource: {},
  deprecatedFirstTimestamp: null,
  deprecatedLastTimestamp: null,
};
const STARTING = {
  kind: 'Event',
  apiVersion: 'events.k8s.io/v1',
  metadata: { name: 'edge-1.18a2b3c4d5e6f708', namespace: 'default' },
  eventTime: TIME,
  reportingController: 'kube-proxy',
  reportingInstance: 'kube-proxy-edge-1',
  action: 'StartKubeProxy',
  reason: 'Starting',
  regarding: { kind: 'Node', name: 'edge-1', apiVersion: 'v1' },
  type: 'Normal',
  ...UNSET,
};

export const EVENTS: readonly [KubeProxyEvent, ...KubeProxyEvent[]] = [
  {
    title: 'the start of 1.36',
    path: NODE_EVENTS,
    protobuf: Buffer.from(
      '6b3873000a190a106576656e74732e6b38732e696f2f763112054576656e7412a8010a2e0a17656467652d312e3138613262336334643565366637303812001a0764656661756c7422002a00320038004200120b08a0fa8ad806108094ef3a220a6b7562652d70726f78792a116b7562652d70726f78792d656467652d31320e53746172744b75626550726f78793a085374617274696e67421a0a044e6f646512001a06656467652d3122002a02763132003a0052005a064e6f726d616c62040a0012006a00720078001a002200',
      'hex',
    ),
    json: JSON.stringify(STARTING),
  },
  {
    title: 'the start of 1.18',
    path: '/api/v1/namespaces/default/events',
    protobuf: Buffer.from(
      '6b3873000a0b0a02763112054576656e7412ac010a2e0a17656467652d312e3138613262336334643565366637306112001a0764656661756c7422002a00320038004200121e0a044e6f646512001a06656467652d312206656467652d312a0032003a001a085374617274696e6722145374617274696e67206b7562652d70726f78792e2a140a0a6b7562652d70726f78791206656467652d31320808a0fa8ad80610003a0808a0fa8ad806100040014a064e6f726d616c5200620072007a001a002200',
      'hex',
    ),
    json: JSON.stringify({
      kind: 'Event',
      apiVersion: 'v1',
      metadata: { name: 'edge-1.18a2b3c4d5e6f70a', namespace: 'default' },
      involvedObject: { kind: 'Node', name: 'edge-1', uid: 'edge-1' },
      reason: 'Starting',
      message: 'Starting kube-proxy.',
      source: { component: 'kube-proxy', host: 'edge-1' },
      firstTimestamp: '2026-11-22T10:00:00Z',
      lastTimestamp: '2026-11-22T10:00:00Z',
      count: 1,
      type: 'Normal',
      eventTime: null,
      reportingComponent: '',
      reportingInstance: '',
    }),
  },
];

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
