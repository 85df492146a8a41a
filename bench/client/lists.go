package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// times are those of several equal requests.
type times struct {
	Ms    []float64 `json:"ms"`
	Bytes int64     `json:"bytes"`
	// Events of a streaming list.
	Events int `json:"events,omitempty"`
}

// listQuery is the first request of a reflector.
func listQuery() url.Values {
	return url.Values{"resourceVersion": {"0"}, "labelSelector": slicesQuestion.query["labelSelector"]}
}

// timeLists measures up to the last byte.
func timeLists(t *target, count int) (times, error) {
	result := times{Ms: []float64{}}
	buffer := make([]byte, 1<<18)
	for range count {
		start := time.Now()
		response, err := t.get(context.Background(), slicesQuestion.path, listQuery())
		if err != nil {
			return result, err
		}
		result.Bytes, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{response.Body}, buffer)
		elapsed := time.Since(start)
		_ = response.Body.Close()
		if err != nil {
			return result, err
		}
		result.Ms = append(result.Ms, milliseconds(elapsed))
	}
	return result, nil
}

// timeStreams measures up to the bookmark that ends the initial events.
func timeStreams(t *target, count int) (times, error) {
	result := times{Ms: []float64{}}
	for range count {
		events, elapsed, err := timeStream(t, slicesQuestion)
		if err != nil {
			return result, err
		}
		result.Ms = append(result.Ms, milliseconds(elapsed))
		result.Events = events
	}
	return result, nil
}

// timeStream returns the number of initial events and how long they took.
func timeStream(t *target, asked question) (int, time.Duration, error) {
	start := time.Now()
	stream, err := openWatch(t, asked)
	if err != nil {
		return 0, 0, err
	}
	defer stream.close()
	events, _, err := stream.skipInitial()
	return events, time.Since(start), err
}

// firstList repeats a LIST until a server that is just starting gives a whole answer. It returns
// the wall clock of the last byte, in milliseconds since the epoch.
func firstList(t *target) (float64, error) {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		_, err := timeLists(t, 1)
		if err == nil {
			return float64(time.Now().UnixMicro()) / 1e3, nil
		}
		var refused *statusError
		busy := errors.As(err, &refused) && refused.status == http.StatusServiceUnavailable
		if !busy && !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(deadline) {
			return 0, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// verify compares a LIST with the model of the cluster, so that no wrong answer is measured.
func (s *session) verify(t *target, filtered bool) (map[string]int, error) {
	response, err := t.get(context.Background(), slicesQuestion.path, listQuery())
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || len(body) < 4 {
		return nil, fmt.Errorf("%d bytes: %w", len(body), err)
	}
	var list discoveryv1.EndpointSliceList
	if t.accept == asJSON {
		err = json.Unmarshal(body, &list)
	} else {
		err = list.Unmarshal(field(body[4:], 2))
	}
	if err != nil {
		return nil, err
	}
	found, endpoints := map[string]discoveryv1.EndpointSlice{}, 0
	for _, slice := range list.Items {
		found[slice.Name] = slice
	}
	for service := range s.cluster.Services {
		slice := found[sliceName(service)]
		if wanted := s.wanted(service, filtered); addresses(slice) != wanted {
			return nil, fmt.Errorf("%s has %s and should have %s", sliceName(service), addresses(slice), wanted)
		}
		endpoints += len(slice.Endpoints)
	}
	return map[string]int{"slices": s.cluster.Services, "endpoints": endpoints}, nil
}

func (s *session) wanted(service int, filtered bool) string {
	var slice discoveryv1.EndpointSlice
	if filtered {
		for _, endpoint := range s.cluster.visible(service, s.labels) {
			slice.Endpoints = append(slice.Endpoints, s.cluster.endpoint(service, endpoint))
		}
	} else {
		slice = *s.cluster.slice(service)
	}
	return addresses(slice)
}

func addresses(slice discoveryv1.EndpointSlice) string {
	all := []string{}
	for _, endpoint := range slice.Endpoints {
		all = append(all, endpoint.Addresses...)
	}
	return fmt.Sprint(all)
}
