package main

import (
	"fmt"
	"net/http"
	"time"
)

// waitLimit for one event.
const waitLimit = 20 * time.Second

// hold opens what a kube-proxy keeps open, and reads it until release.
func (s *session) hold(t *target) error {
	for _, question := range questions {
		held, err := openWatch(t.fresh(), question)
		if err != nil {
			return err
		}
		if _, err := held.skipInitial(); err != nil {
			return err
		}
		events := make(chan event, 1)
		go held.follow(events, false)
		go func() {
			for range events {
			}
		}()
		s.held = append(s.held, held)
	}
	return nil
}

func (s *session) release() {
	for _, held := range s.held {
		held.close()
	}
	s.held = nil
}

// patchEndpoint changes the hostname of one endpoint, which alters no decision.
func (s *session) patchEndpoint(service, endpoint, serial int) error {
	patch := fmt.Sprintf(`[{"op":"add","path":"/endpoints/%d/hostname","value":"h%d"}]`, endpoint, serial)
	path := slicesOfNamespace + "/" + sliceName(service)
	_, err := s.admin.write(http.MethodPatch, path, "application/json-patch+json", []byte(patch))
	return err
}

// startFollowing opens a watch on slices and sends what comes after the initial events.
func startFollowing(t *target) (*watch, <-chan event, error) {
	stream, err := openWatch(t.fresh(), slicesQuestion)
	if err != nil {
		return nil, nil, err
	}
	if _, err := stream.skipInitial(); err != nil {
		stream.close()
		return nil, nil, err
	}
	events := make(chan event, 1<<16)
	go stream.follow(events, true)
	return stream, events, nil
}

// latencies of events: Direct from the start of the PATCH to the arrival at the direct watcher;
// Added, for each event and client, from there to the arrival at the wrapper's watcher.
type latencies struct {
	Direct []float64 `json:"direct"`
	Added  []float64 `json:"added"`
}

// latency patches endpoints that our node sees, one at a time, and takes the time of arrival at a
// direct watcher and at watchers of the wrapper.
func (s *session) latency(c command) (latencies, error) {
	result := latencies{[]float64{}, []float64{}}
	direct, directEvents, err := startFollowing(s.direct)
	if err != nil {
		return result, err
	}
	defer direct.close()
	clients := make([]<-chan event, c.Clients)
	for i := range clients {
		stream, events, err := startFollowing(s.wrapper)
		if err != nil {
			return result, err
		}
		defer stream.close()
		clients[i] = events
	}
	for i := range c.Count {
		service := i * s.world.Services / c.Count
		start := time.Now()
		endpoint := s.world.visible(service, s.own)[0]
		if err := s.patchEndpoint(service, endpoint, start.Nanosecond()); err != nil {
			return result, err
		}
		at, err := arrival(directEvents, sliceName(service))
		if err != nil {
			return result, fmt.Errorf("direct: %w", err)
		}
		result.Direct = append(result.Direct, milliseconds(at.Sub(start)))
		for _, events := range clients {
			there, err := arrival(events, sliceName(service))
			if err != nil {
				return result, fmt.Errorf("wrapper: %w", err)
			}
			result.Added = append(result.Added, milliseconds(there.Sub(at)))
		}
		time.Sleep(time.Duration(c.PauseMs) * time.Millisecond)
	}
	return result, nil
}

func arrival(events <-chan event, name string) (time.Time, error) {
	limit := time.After(waitLimit)
	for {
		select {
		case received, open := <-events:
			if !open {
				return time.Time{}, fmt.Errorf("the watch ended before %s came", name)
			}
			if objectName(received.body) == name {
				return received.at, nil
			}
		case <-limit:
			return time.Time{}, fmt.Errorf("no event for %s in %s", name, waitLimit)
		}
	}
}

// churn patches endpoints that our node does not see, and counts what comes at a client of the target.
func (s *session) churn(c command) (int, error) {
	stream, events, err := startFollowing(s.target(c))
	if err != nil {
		return 0, err
	}
	defer stream.close()
	ticker := time.NewTicker(time.Duration(c.PauseMs) * time.Millisecond)
	defer ticker.Stop()
	for i := range c.Count {
		<-ticker.C
		service := i % s.world.Services
		endpoint := (s.world.visible(service, s.own)[0] + 1) % s.world.Endpoints
		if err := s.patchEndpoint(service, endpoint, time.Now().Nanosecond()); err != nil {
			return 0, err
		}
	}
	time.Sleep(200 * time.Millisecond)
	return len(events), nil
}
