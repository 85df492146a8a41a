// Command bench-client measures what a client of the API server or of the wrapper sees, and makes
// the objects that it measures with.
//
// It reads one command a line from stdin, as JSON, and answers each with one line on stdout:
// {"result":…} or {"error":…}. It ends with its stdin. All times are milliseconds.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// command is one line of stdin; which fields count depends on the operation.
type command struct {
	Op string `json:"op"`
	// Target is "direct", "wrapper" or "alone": the API server as a kube-proxy alone reaches it.
	Target string `json:"target"`
	// JSON says whether JSON is asked for, in place of protobuf; for list and verify.
	JSON bool `json:"json"`
	// Server, CA (PEM), AdminToken and ReadToken are those of the API server; Etcd is its etcd's URL.
	Server     string `json:"server"`
	Etcd       string `json:"etcd"`
	CA         string `json:"ca"`
	AdminToken string `json:"adminToken"`
	ReadToken  string `json:"readToken"`
	// Cluster is what load creates.
	Cluster cluster `json:"cluster"`
	// Count of requests or events.
	Count int `json:"count"`
	// Clients that watch at the same time.
	Clients int `json:"clients"`
	// PauseMs between two events.
	PauseMs int `json:"pauseMs"`
	// Keys is the annotation of all Services; empty: the usual ones.
	Keys string `json:"keys"`
	// Filtered says whether the Services are annotated; for verify.
	Filtered bool `json:"filtered"`
	// Label and Values to be given to our own node, one after the other.
	Label  string   `json:"label"`
	Values []string `json:"values"`
	// Crowd is the position of the crowd whose node is moved.
	Crowd int `json:"crowd"`
	// Node that the wrapper serves; empty: ours.
	Node string `json:"node"`
	// Sites of a fleet.
	Sites int `json:"sites"`
	// Seconds for which a live cluster is played, and changes a second there.
	Seconds    float64 `json:"seconds"`
	Slices     float64 `json:"slices"`
	Heartbeats float64 `json:"heartbeats"`
}

type session struct {
	admin, direct, alone, wrapper *target
	ca, readToken                 string
	etcd                          string
	cluster                       cluster
	templates                     templates
	// labels of now.
	labels labels
	// fleetSites is how many sites have nodes since the fleet was made.
	fleetSites int
	held       []heldWatch
	followed   *followed
}

func main() {
	answers := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	s := &session{}
	for lines.Scan() {
		var c command
		result, err := any(nil), json.Unmarshal(lines.Bytes(), &c)
		if err == nil {
			result, err = s.run(c)
		}
		answer := map[string]any{"result": result}
		if err != nil {
			answer = map[string]any{"error": fmt.Sprintf("%s: %v", c.Op, err)}
		}
		if answers.Encode(answer) != nil {
			os.Exit(1)
		}
	}
}

func (s *session) run(c command) (any, error) {
	switch c.Op {
	case "direct":
		s.admin = newTarget(c.Server, c.CA, c.AdminToken)
		s.direct = newTarget(c.Server, c.CA, c.ReadToken)
		s.ca, s.readToken, s.etcd = c.CA, c.ReadToken, c.Etcd
		return nil, nil
	case "alone":
		s.alone = newTarget(c.Server, s.ca, s.readToken)
		s.alone.renews = true
		return nil, nil
	case "wrapper":
		s.wrapper = newTarget(c.Server, "", "")
		s.wrapper.node = cmp.Or(c.Node, ownName)
		return nil, nil
	case "nodes":
		s.cluster, s.labels = c.Cluster, c.Cluster.atHome()
		return nil, s.createNodes()
	case "fleet":
		return nil, s.createFleet(c)
	case "load":
		return s.loadServices()
	case "annotate":
		return s.annotateServices(cmp.Or(c.Keys, topologyKeys))
	case "verify":
		return s.verify(s.target(c), c.Filtered)
	case "first-list":
		return firstList(s.target(c))
	case "list":
		return timeLists(s.target(c), c.Count)
	case "stream":
		return timeStreams(s.target(c), c.Count)
	case "hold":
		return nil, s.hold(s.target(c), c.Clients)
	case "release":
		return nil, s.release()
	case "latency":
		return s.latency(c)
	case "follow":
		return nil, s.follow(c)
	case "unfollow":
		s.unfollow()
		return nil, nil
	case "churn":
		return s.churn(c)
	case "relabel-own":
		return s.relabelOwn(c)
	case "relabel-other":
		return s.relabelOther(c)
	case "create-large":
		return nil, s.createLarge()
	case "delete-large":
		return nil, s.deleteLarge()
	case "large-hostnames":
		return s.timeLargeHostnames(c)
	case "large-readiness":
		return s.timeLargeReadiness(c)
	case "large-keys":
		return s.timeLargeKeys(c)
	case "live":
		return s.live(c)
	}
	return nil, fmt.Errorf("unknown operation")
}

func (s *session) target(c command) *target {
	if c.JSON {
		return s.server(c).inJSON()
	}
	return s.server(c)
}

func (s *session) server(c command) *target {
	switch c.Target {
	case "wrapper":
		return s.wrapper
	case "alone":
		return s.alone
	}
	return s.direct
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1e6
}
