#!/bin/bash
# k8s.io/client-go v0.37.2 (kubectl, kube-proxy and all clients that load a kubeconfig with clientcmd).
# Expected: rest.DefaultServerURL completes a server without a scheme by "https://" if the configuration has TLS ("defaultTLS").
#   So a cluster with `server: edge.example:6443` and certificate-authority-data is reached over TLS, with the token.
# Seen: over plain http, without the token, and without a warning: clientcmd decides whether the server uses TLS before it
#   reads the certificate authority (client_config.go, IsConfigTransportTLS), and then drops both. The same fields set in a
#   rest.Config by hand give https and the token.
# Who meets it: people who write a kubeconfig by hand or by a template without "https://". They see "Client sent an HTTP request
#   to an HTTPS server" (400), though the cluster has a certificate authority, or 401 behind a port that takes both.
# Output, 2026-11-28:
#   kubeconfig, edge.example:6443          http://edge.example:6443  token: false  CA: false
#   kubeconfig, https://edge.example:6443  https://edge.example:6443  token: true  CA: true
#   rest.Config, edge.example:6443         https://edge.example:6443  token: true  CA: true
#   still so
set -u; d=$(mktemp -d); trap 'rm -rf "$d"' EXIT; cd "$d"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=ca -keyout key.pem -out ca.pem 2>/dev/null
cat > main.go <<'G'
package main

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func show(name string, config *rest.Config) string {
	url, _, err := rest.DefaultServerUrlFor(config)
	must(err)
	seen := fmt.Sprintf("%s  token: %v  CA: %v", url, config.BearerToken != "", len(config.CAData) > 0)
	fmt.Printf("%-38s %s\n", name, seen)
	return seen
}

func load(server string, ca []byte) *rest.Config {
	file := api.NewConfig()
	file.Clusters["c"] = &api.Cluster{Server: server, CertificateAuthorityData: ca}
	file.AuthInfos["u"] = &api.AuthInfo{Token: "token"}
	file.Contexts["c"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	file.CurrentContext = "c"
	text, err := clientcmd.Write(*file)
	must(err)
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	must(err)
	return config
}

func main() {
	ca, err := os.ReadFile("ca.pem")
	must(err)
	bare, full := "edge.example:6443", "https://edge.example:6443"
	a := show("kubeconfig, "+bare, load(bare, ca))
	b := show("kubeconfig, "+full, load(full, ca))
	c := show("rest.Config, "+bare, &rest.Config{Host: bare, BearerToken: "token", TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
	secure := full + "  token: true  CA: true"
	if a != "http://"+bare+"  token: false  CA: false" || b != secure || c != secure {
		os.Exit(1)
	}
}
G
{ go mod init example.com/scheme && go mod edit -require k8s.io/client-go@v0.37.2 && go mod tidy && go build -o t .; } >log 2>&1 || { tail -3 log; echo "install fails"; exit 1; }
timeout 60 ./t; rc=$?; [ $rc = 0 ] && echo "still so" || echo "changed (exit $rc)"; [ $rc = 0 ]
