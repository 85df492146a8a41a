package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// waitLimit for one event.
const waitLimit = 20 * time.Second

// hold opens what so many kube-proxies keep open, and reads it until release. Each has connections of
// its own; as client-go it has only one if the server speaks HTTP/2.
func (s *session) hold(t *target, clients int) error {
	for range clients {
		own := t.fresh()
		for _, question := range questionsOf(own.node) {
			if err := s.holdOne(own, question); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) holdOne(t *target, asked question) error {
	ctx, cancel := context.WithCancel(context.Background())
	watched, err := openWatchWith(ctx, t, asked, initialEvents)
	if err != nil {
		cancel()
		return err
	}
	ended := make(chan struct{})
	s.held = append(s.held, heldWatch{cancel, asked.path, ended})
	_, version, err := watched.skipInitial()
	if err != nil {
		return err
	}
	go func() {
		defer close(ended)
		for opened := time.Now(); ; opened = time.Now() {
			version = watched.skipToEnd(version)
			watched.close()
			if time.Since(opened) < shortestWatch/2 {
				return
			}
			if watched, err = openWatchWith(ctx, t, asked, url.Values{"resourceVersion": {version}}); err != nil {
				return
			}
		}
	}()
	return nil
}

// heldWatch is read until release. When the server ends it in its time, it is resumed.
type heldWatch struct {
	close func()
	path  string
	// ended is closed when it was not resumed.
	ended <-chan struct{}
}

// release fails if one of the watches has ended before: what was measured then was not what it is said to be.
func (s *session) release() error {
	var err error
	for _, held := range s.held {
		select {
		case <-held.ended:
			err = errors.Join(err, fmt.Errorf("the watch of %s ended while it was held", held.path))
		default:
		}
		held.close()
	}
	s.held = nil
	return err
}

// patchHostname changes the hostname of one endpoint, which alters no decision.
func (s *session) patchHostname(slice string, endpoint int) error {
	return s.setHostname(slice, endpoint, newHostname())
}

func (s *session) setHostname(slice string, endpoint int, hostname string) error {
	return s.patchSlice(slice, fmt.Sprintf(`[{"op":"add","path":"/endpoints/%d/hostname","value":%q}]`, endpoint, hostname))
}

// newHostname is another one each time.
func newHostname() string { return fmt.Sprintf("h%d", time.Now().UnixNano()) }

func (s *session) patchSlice(slice, patch string) error {
	_, err := s.admin.write(http.MethodPatch, slicesOfNamespace+"/"+slice, jsonPatch, []byte(patch))
	return err
}

// startFollowing opens a watch and sends what comes after the initial events.
func startFollowing(t *target, asked question) (*watch, <-chan event, error) {
	stream, err := openWatch(t.fresh(), asked)
	if err != nil {
		return nil, nil, err
	}
	if _, _, err := stream.skipInitial(); err != nil {
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
	return s.timePatches(c, func(i int) (expected, error) {
		service := i * s.cluster.Services / c.Count
		endpoint := s.cluster.visible(service, s.labels)[0]
		err := s.patchHostname(sliceName(service), endpoint)
		return expected{sliceName(service), anyNumber}, err
	})
}

// expected is what a patch makes a watcher of the wrapper see.
type expected struct {
	slice string
	// endpoints that the slice has then; anyNumber: nobody looks.
	endpoints int
}

const anyNumber = -1

// timePatches makes Count patches with PauseMs in between, and waits for each at all watchers.
func (s *session) timePatches(c command, patch func(i int) (expected, error)) (latencies, error) {
	result := latencies{[]float64{}, []float64{}}
	direct, directEvents, err := startFollowing(s.direct, slicesQuestion)
	if err != nil {
		return result, err
	}
	defer direct.close()
	clients := make([]<-chan event, c.Clients)
	for i := range clients {
		stream, events, err := startFollowing(s.wrapper, slicesQuestion)
		if err != nil {
			return result, err
		}
		defer stream.close()
		clients[i] = events
	}
	for i := range c.Count {
		start := time.Now()
		wanted, err := patch(i)
		if err != nil {
			return result, err
		}
		atDirect, err := arrival(directEvents, wanted.slice)
		if err != nil {
			return result, fmt.Errorf("direct: %w", err)
		}
		result.Direct = append(result.Direct, milliseconds(atDirect.at.Sub(start)))
		for _, events := range clients {
			there, err := arrival(events, wanted.slice)
			if err == nil {
				err = wanted.check(there)
			}
			if err != nil {
				return result, fmt.Errorf("wrapper: %w", err)
			}
			result.Added = append(result.Added, milliseconds(there.at.Sub(atDirect.at)))
		}
		time.Sleep(time.Duration(c.PauseMs) * time.Millisecond)
	}
	return result, nil
}

func (e expected) check(received event) error {
	if e.endpoints == anyNumber {
		return nil
	}
	slice, err := sliceIn(received)
	if err != nil {
		return err
	}
	return e.checkSlice(slice)
}

func (e expected) checkSlice(slice discoveryv1.EndpointSlice) error {
	if len(slice.Endpoints) != e.endpoints {
		return fmt.Errorf("%s has %d endpoints and should have %d", e.slice, len(slice.Endpoints), e.endpoints)
	}
	return nil
}

func arrival(events <-chan event, name string) (event, error) {
	limit := time.After(waitLimit)
	for {
		select {
		case received, open := <-events:
			if !open {
				return event{}, fmt.Errorf("the watch ended before %s came", name)
			}
			if objectName(received.body) == name {
				return received, nil
			}
		case <-limit:
			return event{}, fmt.Errorf("no event for %s in %s", name, waitLimit)
		}
	}
}

// follow opens the watch that churn counts at, in place of the last one.
func (s *session) follow(c command) error {
	s.unfollow()
	stream, events, err := startFollowing(s.target(c), slicesQuestion)
	if err != nil {
		return err
	}
	s.followed = &followed{stream, events, s.target(c) == s.wrapper}
	return nil
}

func (s *session) unfollow() {
	if s.followed != nil {
		s.followed.stream.close()
	}
	s.followed = nil
}

// followed is a watch whose events are counted.
type followed struct {
	stream *watch
	events <-chan event
	// filtered: only the endpoints that our node sees are shown.
	filtered bool
}

// churned returns how many events came of changes, and how long the changes took.
type churned struct {
	Events  int     `json:"events"`
	Seconds float64 `json:"seconds"`
}

// churn patches endpoints that our node does not see, and counts what comes of it at the watch that is
// followed. At the end it waits for an event that must come, so that nothing is counted too early, and a
// watch that has ended is no silence: at the wrapper for that of one more patch, of an endpoint in sight,
// which is not counted, else for that of the last patch.
func (s *session) churn(c command) (churned, error) {
	ticker := time.NewTicker(time.Duration(c.PauseMs) * time.Millisecond)
	defer ticker.Stop()
	start, last, mark := time.Now(), "", ""
	for i := range c.Count {
		<-ticker.C
		service := i % s.cluster.Services
		endpoint := (s.cluster.visible(service, s.labels)[0] + 1) % s.cluster.Endpoints
		last, mark = sliceName(service), newHostname()
		if err := s.setHostname(last, endpoint, mark); err != nil {
			return churned{}, err
		}
	}
	seconds := time.Since(start).Seconds()
	if s.followed.filtered {
		last, mark = sliceName(0), newHostname()
		if err := s.setHostname(last, s.cluster.visible(0, s.labels)[0], mark); err != nil {
			return churned{}, err
		}
	}
	count, err := countUntil(s.followed.events, last, mark)
	if !s.followed.filtered {
		count++
	}
	return churned{count, seconds}, err
}

// countUntil counts the events before that of the slice whose endpoint has this hostname.
func countUntil(events <-chan event, slice, hostname string) (int, error) {
	for count := 0; ; count++ {
		received, err := nextEvent(events)
		if err != nil {
			return count, fmt.Errorf("after %d events, before the last of %s: %w", count, slice, err)
		}
		if objectName(received.body) == slice && bytes.Contains(received.body, []byte(hostname)) {
			return count, nil
		}
	}
}

func nextEvent(events <-chan event) (event, error) {
	select {
	case received, open := <-events:
		if !open {
			return event{}, errors.New("the watch ended")
		}
		return received, nil
	case <-time.After(waitLimit):
		return event{}, fmt.Errorf("no event in %s", waitLimit)
	}
}
