package main

import (
	"fmt"
	"net/http"
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
		for _, question := range questions {
			if err := s.holdOne(own, question); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) holdOne(t *target, asked question) error {
	held, err := openWatch(t, asked)
	if err != nil {
		return err
	}
	s.held = append(s.held, held)
	if _, err := held.skipInitial(); err != nil {
		return err
	}
	events := make(chan event, 1)
	go held.follow(events, false)
	go func() {
		for range events {
		}
	}()
	return nil
}

func (s *session) release() {
	for _, held := range s.held {
		held.close()
	}
	s.held = nil
}

// patchHostname changes the hostname of one endpoint, which alters no decision.
func (s *session) patchHostname(slice string, endpoint int) error {
	hostname := fmt.Sprintf("h%d", time.Now().Nanosecond())
	return s.patchSlice(slice, fmt.Sprintf(`[{"op":"add","path":"/endpoints/%d/hostname","value":%q}]`, endpoint, hostname))
}

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
	return s.timePatches(c, func(i int) (expected, error) {
		service := i * s.world.Services / c.Count
		endpoint := s.world.visible(service, s.labels)[0]
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

// churn patches endpoints that our node does not see, and counts what comes at a client of the target.
func (s *session) churn(c command) (int, error) {
	stream, events, err := startFollowing(s.target(c), slicesQuestion)
	if err != nil {
		return 0, err
	}
	defer stream.close()
	ticker := time.NewTicker(time.Duration(c.PauseMs) * time.Millisecond)
	defer ticker.Stop()
	for i := range c.Count {
		<-ticker.C
		service := i % s.world.Services
		endpoint := (s.world.visible(service, s.labels)[0] + 1) % s.world.Endpoints
		if err := s.patchHostname(sliceName(service), endpoint); err != nil {
			return 0, err
		}
	}
	time.Sleep(200 * time.Millisecond)
	return len(events), nil
}
