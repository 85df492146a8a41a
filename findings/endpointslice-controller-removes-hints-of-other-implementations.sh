#!/bin/bash
# k8s.io/endpointslice v0.37.2 (the EndpointSlice controller of Kubernetes 1.37.2), run as a library on an API in memory.
# Expected: core/v1 says of the annotation service.kubernetes.io/topology-mode that other implementations may have values
#   with a domain, such as example.com/lowest-rtt, and that they "will often populate topology hints on EndpointSlices".
#   So the controller leaves these hints in the slices of such a Service.
# Seen: it removes them at the next sync of the Service, also when no Pod and no endpoint changed, with no event. For it any
#   value but Auto and auto means: hints are not wanted (reconciler.go, RemoveHintsFromSlices). The implementation and the
#   controller then write the slices in turn. The same holds for a Service without any annotation.
# Who meets it: controllers that write hints beside the EndpointSlice controller (latency, cost, failover). kube-proxy uses all
#   endpoints from the next change of any Pod on. A mutating webhook, as gardener's, is not affected: it adds the hints again.
# Output, 2026-11-28:
#   topology-mode=example.com/lowest-rtt  written by the other implementation: hints for zone a  after one more sync: none
#   without the annotation                written by the other implementation: hints for zone a  after one more sync: none
#   still so
set -u; d=$(mktemp -d); trap 'chmod -R u+w "$d"; rm -rf "$d"' EXIT; cd "$d"
cat > main.go <<'G'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/topologycache"
	"k8s.io/endpointslice/util"
	"k8s.io/klog/v2"
)

func hints(s *discovery.EndpointSlice) string {
	if h := s.Endpoints[0].Hints; h != nil && len(h.ForZones) > 0 {
		return "hints for zone " + h.ForZones[0].Name
	}
	return "none"
}

// Returns the hints after another implementation wrote them, and after one more sync.
func run(annotations map[string]string) (string, string) {
	ctx, zone, ready := context.Background(), "a", v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{v1.LabelTopologyZone: zone}}}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", Labels: map[string]string{"app": "web"}},
		Spec:   v1.PodSpec{NodeName: "n"},
		Status: v1.PodStatus{Phase: v1.PodRunning, PodIP: "10.0.0.1", PodIPs: []v1.PodIP{{IP: "10.0.0.1"}}, Conditions: []v1.PodCondition{ready}}}
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u", Annotations: annotations},
		Spec: v1.ServiceSpec{ClusterIP: "10.96.0.2", IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, Selector: map[string]string{"app": "web"},
			Ports: []v1.ServicePort{{Port: 80, Protocol: v1.ProtocolTCP}}}}
	client := fake.NewClientset(node, pod, service)
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes := factory.Core().V1().Nodes()
	must(nodes.Informer().GetIndexer().Add(node))
	reconciler := endpointslice.NewReconciler(client, nodes.Lister(), 100, util.NewEndpointSliceTracker(), topologycache.NewTopologyCache(),
		record.NewFakeRecorder(10), "endpointslice-controller.k8s.io")
	sync := func() *discovery.EndpointSlice {
		slices := client.DiscoveryV1().EndpointSlices("default")
		list, err := slices.List(ctx, metav1.ListOptions{})
		must(err)
		existing := []*discovery.EndpointSlice{}
		for i := range list.Items {
			existing = append(existing, &list.Items[i])
		}
		must(reconciler.Reconcile(klog.Background(), service, []*v1.Pod{pod}, existing, time.Now()))
		list, err = slices.List(ctx, metav1.ListOptions{})
		must(err)
		return &list.Items[0]
	}
	slice := sync()
	slice.Endpoints[0].Hints = &discovery.EndpointHints{ForZones: []discovery.ForZone{{Name: zone}}}
	written, err := client.DiscoveryV1().EndpointSlices("default").Update(ctx, slice, metav1.UpdateOptions{})
	must(err)
	return hints(written), hints(sync())
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	still := true
	for _, c := range []struct{ name, mode string }{{"topology-mode=example.com/lowest-rtt", "example.com/lowest-rtt"}, {"without the annotation", ""}} {
		annotations := map[string]string{}
		if c.mode != "" {
			annotations[v1.AnnotationTopologyMode] = c.mode
		}
		before, after := run(annotations)
		fmt.Printf("%-36s  written by the other implementation: %s  after one more sync: %s\n", c.name, before, after)
		still = still && before == "hints for zone a" && after == "none"
	}
	if !still {
		os.Exit(1)
	}
}
G
{ go mod init example.com/hints && go mod edit -require k8s.io/endpointslice@v0.37.2 -require k8s.io/client-go@v0.37.2 -require k8s.io/api@v0.37.2 -require k8s.io/apimachinery@v0.37.2 && go mod tidy && go build -o t .; } >log 2>&1 || { tail -3 log; echo "install fails"; exit 1; }
timeout 60 ./t; rc=$?; [ $rc = 0 ] && echo "still so" || echo "changed (exit $rc)"; [ $rc = 0 ]
