package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const namespace = "bench"

// node has about as many labels and annotations as one of a real cluster: these are what a watch on
// metadata carries.
func (w cluster) node(site, index int) *corev1.Node {
	name := nodeName(site, index)
	labels := map[string]string{
		"beta.kubernetes.io/arch":          "amd64",
		"beta.kubernetes.io/instance-type": "edge.large",
		"beta.kubernetes.io/os":            "linux",
		"kubernetes.io/arch":               "amd64",
		"kubernetes.io/hostname":           name,
		"kubernetes.io/os":                 "linux",
		"node.kubernetes.io/instance-type": "edge.large",
		"topology.kubernetes.io/region":    "region-0",
		siteLabel:                          siteName(site),
		zoneLabel:                          zoneName(site),
	}
	room := w.roomOf(site, index)
	if name == ownName {
		room = rooms[0]
	}
	if room != "" {
		labels[roomLabel] = room
	}
	annotations := map[string]string{
		"csi.volume.kubernetes.io/nodeid":                        `{"csi.example":"` + name + `"}`,
		"flannel.alpha.coreos.com/backend-data":                  `{"VNI":1,"VtepMAC":"5e:3b:7c:9a:1d:42"}`,
		"flannel.alpha.coreos.com/backend-type":                  "vxlan",
		"flannel.alpha.coreos.com/kube-subnet-manager":           "true",
		"flannel.alpha.coreos.com/public-ip":                     "192.0.2.1",
		"kubeadm.alpha.kubernetes.io/cri-socket":                 "unix:///run/containerd/containerd.sock",
		"node.alpha.kubernetes.io/ttl":                           "300",
		"volumes.kubernetes.io/controller-managed-attach-detach": "true",
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations}}
}

func (w cluster) service(service int) *corev1.Service {
	name := serviceName(service)
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, Labels: map[string]string{"app": name},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: clusterIP(service),
			Selector:  map[string]string{"app": name},
			Ports: []corev1.ServicePort{{
				Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080),
			}},
		},
	}
}

// clusterIP lies in the service range of the API server, above what that gives away by itself.
func clusterIP(service int) string {
	number := service + 1
	return fmt.Sprintf("10.%d.%d.%d", 65+number>>16, number>>8&255, number&255)
}

// slice has what a decision needs, and not the owner that the endpointslice controller would note.
func (w cluster) slice(service int) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: sliceName(service), Namespace: namespace,
			Labels: map[string]string{"kubernetes.io/service-name": serviceName(service)},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{port("http", 8080)},
	}
	for endpoint := range w.Endpoints {
		slice.Endpoints = append(slice.Endpoints, w.endpoint(service, endpoint))
	}
	return slice
}

func port(name string, number int32) discoveryv1.EndpointPort {
	protocol := corev1.ProtocolTCP
	return discoveryv1.EndpointPort{Name: &name, Protocol: &protocol, Port: &number}
}

func (w cluster) endpoint(service, endpoint int) discoveryv1.Endpoint {
	node, yes, no := nodeName(w.place(service, endpoint)), true, false
	number := service*w.Endpoints + endpoint
	return discoveryv1.Endpoint{
		Addresses: []string{fmt.Sprintf("10.%d.%d.%d", 128+number>>16, number>>8&255, number&255)},
		Conditions: discoveryv1.EndpointConditions{
			Ready: &yes, Serving: &yes, Terminating: &no,
		},
		NodeName: &node,
		TargetRef: &corev1.ObjectReference{
			Kind: "Pod", Namespace: namespace,
			Name: podName(serviceName(service), service, number),
			UID:  uid("pod", number),
		},
	}
}
