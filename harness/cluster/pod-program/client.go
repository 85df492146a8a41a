package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// A lost SYN is sent again after 1 and 3 s.
const requestTimeout = 5 * time.Second

// Each request opens a connection of its own, so that kube-proxy's rules choose an endpoint for each.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: requestTimeout}

// ask returns the answer of one request, or in brackets what happened to it.
func ask(url string) string {
	response, err := client.Get(url)
	if err != nil {
		return failure(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 200))
	if err != nil {
		return failure(err)
	}
	if response.StatusCode != http.StatusOK {
		return "(" + response.Status + ")"
	}
	return string(body)
}

func failure(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "(refused)"
	case errors.Is(err, syscall.ECONNRESET):
		return "(reset)"
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "(timeout)"
	default:
		return "(" + err.Error() + ")"
	}
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// dial counts the answers of some requests, 8 at a time.
func dial(url string, count int) map[string]int {
	counts := map[string]int{}
	var lock sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, 8)
	for range count {
		slots <- struct{}{}
		all.Go(func() {
			answer := ask(url)
			lock.Lock()
			counts[answer]++
			lock.Unlock()
			<-slots
		})
	}
	all.Wait()
	return counts
}

// A summary of requests that were sent at a steady rate.
type summary struct {
	Answers   map[string]int `json:"answers"`
	SlowestMs int64          `json:"slowestMs"`
}

type load struct {
	lock    sync.Mutex
	all     sync.WaitGroup
	summary summary
	end     chan struct{}
}

// startLoad sends a request at every interval, whether or not those before it were answered.
func startLoad(url string, every time.Duration) *load {
	started := &load{summary: summary{Answers: map[string]int{}}, end: make(chan struct{})}
	started.all.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-started.end:
				return
			case <-ticker.C:
				started.all.Go(func() { started.request(url) })
			}
		}
	})
	return started
}

func (l *load) request(url string) {
	before := time.Now()
	answer := ask(url)
	took := time.Since(before).Milliseconds()
	l.lock.Lock()
	defer l.lock.Unlock()
	l.summary.Answers[answer]++
	l.summary.SlowestMs = max(l.summary.SlowestMs, took)
}

func (l *load) stop() summary {
	close(l.end)
	l.all.Wait()
	return l.summary
}
