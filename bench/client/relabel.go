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

// relabel gives our node the values of a label one after the other and times the events that the
// wrapper's client gets.
func (s *session) relabel(c command) ([]relabelling, error) {
	node, err := openWatch(s.direct.fresh(), ownNodeQuestion)
	if err != nil {
		return nil, err
	}
	defer node.close()
	if _, err := node.skipInitial(); err != nil {
		return nil, err
	}
	nodeEvents := make(chan event, 16)
	go node.follow(nodeEvents, false)
	stream, events, err := startFollowing(s.wrapper)
	if err != nil {
		return nil, err
	}
	defer stream.close()
	results := []relabelling{}
	for _, value := range c.Values {
		expected := s.moveOwnNode(c.Label, value)
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"labels": map[string]string{c.Label: value}},
		})
		if err != nil {
			return nil, err
		}
		path := nodes + "/" + ownName
		if _, err := s.admin.write(http.MethodPatch, path, "application/merge-patch+json", patch); err != nil {
			return nil, err
		}
		changed, open := <-nodeEvents
		if !open {
			return nil, fmt.Errorf("the watch on the Node ended")
		}
		result, err := countEvents(events, changed.at, expected)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// moveOwnNode notes the new label and tells how many slices it changes.
func (s *session) moveOwnNode(label, value string) int {
	before := s.own
	if label == roomLabel {
		s.own.room = value
	} else {
		s.own.site = value
	}
	return s.world.changed(before, s.own)
}

// countEvents waits for those that are expected, and then until no more come.
func countEvents(events <-chan event, start time.Time, expected int) (relabelling, error) {
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
		case <-time.After(limit):
			if result.Events < expected {
				return result, fmt.Errorf("only %d of %d events came", result.Events, expected)
			}
			return result, nil
		}
	}
}
