#!/bin/bash
# github.com/sercand/kuberesolver/v6 v6.0.1 (a name resolver of grpc-go for kubernetes:///service.namespace:port), grpc v1.71.0.
# Expected: a Service's addresses are those of all its EndpointSlices together (EndpointSlice API; its controller starts a new
#   slice after 100 endpoints, and one for each set of ports and each address family).
# Seen: each event replaces the whole state of the resolver with the addresses of that event's slice. A Service with two slices is
#   one slice for gRPC: that which came last. Any change in the other one moves all traffic there, and the poll every 30 minutes
#   (one call of UpdateState for each slice of the list) ends in the same way. Version 5 read Endpoints, which have all in one object.
# Who meets it: gRPC clients of Services with more than 100 endpoints, with two address families, or with slices by hand beside
#   the controller's; some Pods get all the load and the others none, with no error.
# Output, 2026-11-28:
#   after the start, slices a (10.0.0.1, 10.0.0.2) and b (10.0.1.1)  10.0.1.1:80
#   slice a changes: 10.0.0.3 is new                               10.0.0.1:80 10.0.0.2:80 10.0.0.3:80
#   still so
set -u; d=$(mktemp -d); trap 'chmod -R u+w "$d"; rm -rf "$d"' EXIT; cd "$d"
cat > main.go <<'G'
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/sercand/kuberesolver/v6"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// state keeps what a ClientConn was told last.
type state struct {
	mutex sync.Mutex
	last  string
}

func (s *state) UpdateState(all resolver.State) error {
	var addresses []string
	for _, each := range all.Addresses {
		addresses = append(addresses, each.Addr)
	}
	sort.Strings(addresses)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.last = strings.Join(addresses, " ")
	return nil
}
func (s *state) ReportError(error)                                      {}
func (s *state) NewAddress([]resolver.Address)                          {}
func (s *state) ParseServiceConfig(string) *serviceconfig.ParseResult { return nil }
func (s *state) get() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.last
}

func slice(kind, name, version string, ips ...string) string {
	var endpoints []string
	for _, ip := range ips {
		endpoints = append(endpoints, fmt.Sprintf(`{"addresses":[%q],"conditions":{"ready":true}}`, ip))
	}
	return fmt.Sprintf(`{"type":%q,"object":{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":%q,"namespace":"default","resourceVersion":%q,"labels":{"kubernetes.io/service-name":"web"}},"addressType":"IPv4","endpoints":[%s],"ports":[{"name":"","port":80,"protocol":"TCP"}]}}`+"\n",
		kind, name, version, strings.Join(endpoints, ","))
}

func main() {
	change := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.Contains(r.URL.Path, "/watch/") {
			fmt.Fprint(w, `{"items":[]}`)
			return
		}
		fmt.Fprint(w, slice("ADDED", "a", "1", "10.0.0.1", "10.0.0.2")+slice("ADDED", "b", "2", "10.0.1.1"))
		w.(http.Flusher).Flush()
		<-change
		fmt.Fprint(w, slice("MODIFIED", "a", "3", "10.0.0.1", "10.0.0.2", "10.0.0.3"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	seen := &state{}
	builder := kuberesolver.NewBuilder(kuberesolver.NewInsecureK8sClient(api.URL), "kubernetes")
	target := resolver.Target{URL: url.URL{Scheme: "kubernetes", Path: "/web.default:80"}}
	built, err := builder.Build(target, seen, resolver.BuildOptions{})
	if err != nil {
		panic(err)
	}
	time.Sleep(2 * time.Second)
	first := seen.get()
	fmt.Println("after the start, slices a (10.0.0.1, 10.0.0.2) and b (10.0.1.1) ", first)
	close(change)
	time.Sleep(2 * time.Second)
	second := seen.get()
	fmt.Println("slice a changes: 10.0.0.3 is new                               ", second)
	built.Close()
	if first != "10.0.1.1:80" || second != "10.0.0.1:80 10.0.0.2:80 10.0.0.3:80" {
		os.Exit(1)
	}
}
G
go mod init x >/dev/null 2>&1 && go get github.com/sercand/kuberesolver/v6@v6.0.1 >/dev/null 2>&1 && go mod tidy >/dev/null 2>&1 &&
  go build -o x . || { echo "install fails"; exit 1; }
timeout 30 ./x; rc=$?; [ $rc = 0 ] && echo "still so" || echo "changed (exit $rc)"; [ $rc = 0 ]
