package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	protobuf       = "application/vnd.kubernetes.protobuf"
	asJSON         = "application/json"
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	nodes          = "/api/v1/nodes"
)

// question is a collection, and what is selected of it.
type question struct {
	path  string
	query url.Values
}

// The queries of kube-proxy 1.36.
var (
	slicesQuestion = question{"/apis/discovery.k8s.io/v1/endpointslices", url.Values{
		"labelSelector": {"!service.kubernetes.io/headless"},
	}}
	sharedQuestions = []question{
		{"/apis/networking.k8s.io/v1/servicecidrs", nil},
		slicesQuestion,
		{"/api/v1/services", url.Values{
			"fieldSelector": {"spec.clusterIP!=None"},
			"labelSelector": {"!service.kubernetes.io/service-proxy-name"},
		}},
	}
)

// questionsOf are all queries of the kube-proxy of a node.
func questionsOf(node string) []question {
	return append([]question{nodeQuestion(node)}, sharedQuestions...)
}

func nodeQuestion(name string) question {
	return question{nodes, url.Values{"fieldSelector": {"metadata.name=" + name}}}
}

// target is a server with connections of its own.
type target struct {
	server, token string
	client        *http.Client
	// accept is the encoding that it asks for.
	accept string
	// renews is whether its watches last as long as those of client-go.
	renews bool
	// node whose kube-proxy it answers.
	node string
}

// shortestWatch is the shortest that client-go asks for; the longest is twice as long.
const shortestWatch = 5 * time.Minute

// watchSeconds is how long a watch may last.
func (t *target) watchSeconds() string {
	if t.renews {
		return strconv.Itoa(int((shortestWatch + rand.N(shortestWatch)).Seconds()))
	}
	return "1800"
}

// newTarget speaks HTTP/2 over TLS, as client-go does, with its PING after 30 s of silence, and HTTP/1.1 to a plain
// http server. No answer is compressed.
func newTarget(server, ca, token string) *target {
	transport := &http.Transport{
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		MaxIdleConnsPerHost: 64,
		ReadBufferSize:      1 << 16,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	if ca != "" {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM([]byte(ca))
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	return &target{server, token, &http.Client{Transport: transport}, protobuf, false, ownName}
}

// inJSON is the same target over the same connections, asked for JSON.
func (t *target) inJSON() *target {
	return &target{t.server, t.token, t.client, asJSON, t.renews, t.node}
}

// fresh is the same target over connections that nobody else uses.
func (t *target) fresh() *target {
	transport := t.client.Transport.(*http.Transport).Clone()
	return &target{t.server, t.token, &http.Client{Transport: transport}, t.accept, t.renews, t.node}
}

func (t *target) get(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	return t.send(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil)
}

// send fails unless the answer is 2xx. The caller closes the body.
func (t *target) send(ctx context.Context, method, path, contentType string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, t.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", t.accept)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if t.token != "" {
		request.Header.Set("Authorization", "Bearer "+t.token)
	}
	response, err := t.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		return nil, &statusError{response.StatusCode, fmt.Sprintf("%s %s: %s %q", method, path, response.Status, text)}
	}
	return response, nil
}

// write sends a body and reads the answer to its end.
func (t *target) write(method, path, contentType string, body []byte) ([]byte, error) {
	response, err := t.send(context.Background(), method, path, contentType, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string { return e.message }
