/** Where kube-proxy writes its Events. */
export const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
