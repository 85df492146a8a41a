// Command bench-client measures what a client of the API server or of the wrapper sees, and makes
// the objects that it measures with.
//
// It reads one command a line from stdin, as JSON, and answers each with one line on stdout:
// {"result":…} or {"error":…}. It ends with its stdin. All times are milliseconds.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// command is one line of stdin; which fields count depends on the operation.
type command struct {
	Op string `json:"op"`
	// Target is "direct" or "wrapper".
	Target string `json:"target"`
	// Server, CA (PEM), AdminToken and ReadToken are those of the API server; Etcd is its etcd's URL.
	Server     string `json:"server"`
	Etcd       string `json:"etcd"`
	CA         string `json:"ca"`
	AdminToken string `json:"adminToken"`
	ReadToken  string `json:"readToken"`
	// World is what load creates.
	World world `json:"world"`
	// Count of requests or events.
	Count int `json:"count"`
	// Clients that watch at the same time.
	Clients int `json:"clients"`
	// PauseMs between two events.
	PauseMs int `json:"pauseMs"`
	// Filtered tells verify whether the Services are annotated.
	Filtered bool `json:"filtered"`
	// Label and Values to be given to our own node, one after the other.
	Label  string   `json:"label"`
	Values []string `json:"values"`
}

type session struct {
	admin, direct, wrapper *target
	etcd                   string
	world                  world
	templates              templates
	// own is the node that the wrapper serves, with its labels of now.
	own  ownNode
	held []*watch
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
		s.etcd = c.Etcd
		return nil, nil
	case "wrapper":
		s.wrapper = newTarget(c.Server, "", "")
		return nil, nil
	case "nodes":
		s.world, s.own = c.World, ownNode{room: rooms[0], site: siteName(0)}
		return nil, s.createNodes()
	case "load":
		return s.loadServices()
	case "annotate":
		return s.annotateServices()
	case "verify":
		return s.verify(s.target(c), c.Filtered)
	case "first-list":
		return firstList(s.target(c))
	case "list":
		return timeLists(s.target(c), c.Count)
	case "stream":
		return timeStreams(s.target(c), c.Count)
	case "hold":
		return nil, s.hold(s.target(c))
	case "release":
		s.release()
		return nil, nil
	case "latency":
		return s.latency(c)
	case "churn":
		return s.churn(c)
	case "relabel":
		return s.relabel(c)
	}
	return nil, fmt.Errorf("unknown operation")
}

func (s *session) target(c command) *target {
	if c.Target == "wrapper" {
		return s.wrapper
	}
	return s.direct
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1e6
}
