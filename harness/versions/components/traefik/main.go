// Traefik's provider for Ingresses. The module proxy lacks some modules of the whole Traefik; this part of it is what
// reads Services and EndpointSlices.
//
// Usage: traefik SERVER CA-FILE TOKEN NAMESPACE. Each line of the output is the configuration then, as JSON: URLs of
// the backends by the name of the Service.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"sort"
	"strings"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/provider/kubernetes/ingress"
	"github.com/traefik/traefik/v3/pkg/safe"
	"github.com/traefik/traefik/v3/pkg/types"
)

func main() {
	namespace := os.Args[4]
	provider := &ingress.Provider{
		Endpoint:           os.Args[1],
		CertAuthFilePath:   os.Args[2],
		Token:              types.FileOrContent(os.Args[3]),
		Namespaces:         []string{namespace},
		AllowEmptyServices: true,
	}
	messages := make(chan dynamic.Message)
	if err := provider.Provide(messages, safe.NewPool(context.Background())); err != nil {
		log.Fatal(err)
	}
	for message := range messages {
		backends := map[string][]string{}
		for key, service := range message.Configuration.HTTP.Services {
			urls := []string{}
			for _, server := range service.LoadBalancer.Servers {
				urls = append(urls, server.URL)
			}
			sort.Strings(urls)
			// The key is namespace-service-port.
			name := strings.TrimSuffix(strings.TrimPrefix(key, namespace+"-"), "-80")
			backends[name] = urls
		}
		line, err := json.Marshal(backends)
		if err != nil {
			log.Fatal(err)
		}
		os.Stdout.Write(append(line, '\n'))
	}
}
