package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// settle is how long no event may come before a relabelling counts as done.
const settle = 300 * time.Millisecond

// relabelling counts from the arrival of the Node's event at a direct watcher.
type relabelling struct {
	FirstMs  float64 `json:"firstMs"`
	LastMs   float64 `json:"lastMs"`
	Events   int     `json:"events"`
	Expected int     `json:"expected"`
}

// relabelOwn gives our node the values of a label one after the other and times the events that the
// wrapper's client gets.
func (s *session) relabelOwn(c command) ([]relabelling, error) {
	relabeller, err := s.startRelabelling(ownName)
	if err != nil {
		return nil, err
	}
	defer relabeller.close()
	results := []relabelling{}
	for _, value := range c.Values {
		after := s.labels
		if c.Label == roomLabel {
			after.room = value
		} else if _, err := fmt.Sscanf(value, "site-%d", &after.site); err != nil {
			return nil, err
		}
		result, err := relabeller.relabel(c.Label, value, after)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// relabelOther moves the node of a crowd into our site, or out of it if it is there, and back, Count
// times, and does the same. What the client sees is checked after each of the first two moves.
func (s *session) relabelOther(c command) ([]relabelling, error) {
	site, index := s.cluster.home(c.Crowd)
	away := 0
	if site == away {
		away = 1
	}
	relabeller, err := s.startRelabelling(nodeName(site, index))
	if err != nil {
		return nil, err
	}
	defer relabeller.close()
	results := []relabelling{}
	for i := range 2 * c.Count {
		after := s.labels
		after.crowd, after.at = c.Crowd, []int{away, site}[i%2]
		result, err := relabeller.relabel(siteLabel, siteName(after.at), after)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
		if i >= 2 {
			continue
		}
		if _, err := s.verify(s.wrapper, true); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// relabeller changes labels of a node and follows what comes of it.
type relabeller struct {
	session            *session
	path               string
	node, stream       *watch
	nodeEvents, events <-chan event
}

func (s *session) startRelabelling(name string) (*relabeller, error) {
	node, nodeEvents, err := startFollowing(s.direct, nodeQuestion(name))
	if err != nil {
		return nil, err
	}
	stream, events, err := startFollowing(s.wrapper, slicesQuestion)
	if err != nil {
		node.close()
		return nil, err
	}
	return &relabeller{s, nodes + "/" + name, node, stream, nodeEvents, events}, nil
}

func (r *relabeller) close() {
	r.node.close()
	r.stream.close()
}

// relabel gives the node a label, after which the labels are these.
func (r *relabeller) relabel(label, value string, after labels) (relabelling, error) {
	expected := r.session.cluster.changed(r.session.labels, after)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": map[string]string{label: value}},
	})
	if err != nil {
		return relabelling{}, err
	}
	if _, err := r.session.admin.write(http.MethodPatch, r.path, mergePatch, patch); err != nil {
		return relabelling{}, err
	}
	r.session.labels = after
	changed, open := <-r.nodeEvents
	if !open {
		return relabelling{}, fmt.Errorf("the watch on the Node ended")
	}
	return countEvents(r.events, changed.at, expected, nil)
}

// countEvents waits for those that are expected, and then until no more come. An event that check, if
// there is one, doesn't like is an error.
func countEvents(events <-chan event, start time.Time, expected int, check func(event) error) (relabelling, error) {
	result := relabelling{Expected: expected}
	for {
		limit := waitLimit
		if result.Events >= expected {
			limit = settle
		}
		select {
		case received, open := <-events:
			if !open {
				return result, fmt.Errorf("the watch ended after %d of %d events", result.Events, expected)
			}
			result.LastMs = milliseconds(received.at.Sub(start))
			if result.Events++; result.Events == 1 {
				result.FirstMs = result.LastMs
			}
			if check == nil {
				continue
			}
			if err := check(received); err != nil {
				return result, err
			}
		case <-time.After(limit):
			if result.Events < expected {
				return result, fmt.Errorf("only %d of %d events came", result.Events, expected)
			}
			return result, nil
		}
	}
}
