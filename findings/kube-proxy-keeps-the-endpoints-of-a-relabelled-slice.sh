#!/bin/bash
# k8s.io/kubernetes v1.37.2, pkg/proxy run as a library. Seen with the stock kube-proxy 1.37.2 (nftables) and 1.30.4 (iptables) too.
# Expected: the label kubernetes.io/service-name says to which Service an EndpointSlice belongs, and may change. So a slice whose
#   label changes from a to b leaves Service a and joins b. Once it is deleted, neither has its endpoints.
# Seen: both Services have them, and after the slice is deleted, a still has them until kube-proxy restarts. The handlers of all
#   modes drop the old object, and the cache files the new one under its label (endpointslicecache.go, updatePending). The entry
#   under a is never removed, and no message says so. The EndpointSlice controller does compare the labels, because users may
#   change them.
# Who meets it: people and operators who write slices of Services without selectors, and switch them between two Services by the
#   label (blue/green, failover of an external database). A part of the connections to a goes to endpoints of b, and later to an
#   address that nobody has, or somebody else. `kubectl get endpointslices` shows nothing of it. To delete and create the slice helps.
# The first build takes some minutes.
# Output, 2026-11-29:
#   slice s of Service a is added      a 10.0.0.1:8080
#   its label names Service b instead  a 10.0.0.1:8080, b 10.0.0.1:8080
#   slice s is deleted                 a 10.0.0.1:8080
#   still so
set -u; d=$(mktemp -d); trap 'rm -rf "$d"' EXIT; cd "$d"
cat > main.go <<'G'
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/proxy"
)

func sliceOf(service string) *discovery.EndpointSlice {
	name, port, tcp := "http", int32(8080), v1.ProtocolTCP
	return &discovery.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "s", Namespace: "default", Labels: map[string]string{discovery.LabelServiceName: service}},
		AddressType: discovery.AddressTypeIPv4,
		Ports:       []discovery.EndpointPort{{Name: &name, Port: &port, Protocol: &tcp}},
		Endpoints:   []discovery.Endpoint{{Addresses: []string{"10.0.0.1"}}},
	}
}

func main() {
	tracker := proxy.NewEndpointsChangeTracker(v1.IPv4Protocol, "node", nil, nil)
	endpoints := proxy.EndpointsMap{}
	// What OnEndpointSliceAdd, -Update and -Delete of each proxier do, and then a sync.
	take := func(what, service string, deleted bool) string {
		tracker.EndpointSliceUpdate(sliceOf(service), deleted)
		endpoints.Update(tracker)
		var all []string
		for port, list := range endpoints {
			for _, endpoint := range list {
				all = append(all, port.Name+" "+endpoint.String())
			}
		}
		sort.Strings(all)
		seen := strings.Join(all, ", ")
		fmt.Printf("%-34s %s\n", what, seen)
		return seen
	}
	before := take("slice s of Service a is added", "a", false)
	moved := take("its label names Service b instead", "b", false)
	gone := take("slice s is deleted", "b", true)
	a, b := "a 10.0.0.1:8080", "b 10.0.0.1:8080"
	if before != a || moved != a+", "+b || gone != a {
		os.Exit(1)
	}
}
G
# Kubernetes requires its staging modules as v0.0.0, from its own tree.
{ go mod init example.com/moved && go mod edit -require k8s.io/kubernetes@v1.37.2 && go mod download k8s.io/kubernetes@v1.37.2 &&
  staging=$(sed -n 's|^\t\(k8s.io/[a-z-]*\) => ./staging/.*|\1|p' "$(go env GOMODCACHE)/cache/download/k8s.io/kubernetes/@v/v1.37.2.mod") &&
  for m in $staging; do echo "-replace=$m=$m@v0.37.2"; done | xargs go mod edit && CGO_ENABLED=0 go build -mod=mod -o t .; } >log 2>&1 || { tail -3 log; echo "install fails"; exit 1; }
timeout 60 ./t; rc=$?; [ $rc = 0 ] && echo "still so" || echo "changed (exit $rc)"; [ $rc = 0 ]
