package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// serve answers with the name of node and Pod until SIGTERM. Its other paths are for the tests:
//
//	/ready                        for the readiness probe
//	/set-ready?ready=false        switches it
//	/load/start?url=…&everyMs=20  sends requests to a URL
//	/load/stop                    ends that and answers its summary
//	/fill?mib=100                 takes memory and keeps it
func serve(port string) {
	var notReady atomic.Bool
	var loads loadRegistry
	var memory [][]byte
	name := os.Getenv("NODE") + "/" + os.Getenv("POD")
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(name)) })
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if notReady.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/set-ready", func(w http.ResponseWriter, r *http.Request) {
		notReady.Store(r.URL.Query().Get("ready") == "false")
		answer(w, map[string]bool{"ready": !notReady.Load()})
	})
	mux.HandleFunc("/load/start", func(w http.ResponseWriter, r *http.Request) {
		everyMs, _ := strconv.Atoi(r.URL.Query().Get("everyMs"))
		loads.start(r.URL.Query().Get("url"), time.Duration(max(everyMs, 1))*time.Millisecond)
		answer(w, map[string]bool{"started": true})
	})
	mux.HandleFunc("/load/stop", func(w http.ResponseWriter, _ *http.Request) { answer(w, loads.stop()) })
	mux.HandleFunc("/fill", func(_ http.ResponseWriter, r *http.Request) {
		mib, _ := strconv.Atoi(r.URL.Query().Get("mib"))
		piece := make([]byte, mib<<20)
		for i := 0; i < len(piece); i += 4096 {
			piece[i] = 1
		}
		memory = append(memory, piece)
	})
	endOnSignal()
	fail(http.ListenAndServe(":"+port, mux).Error())
}

func endOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		os.Exit(0)
	}()
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// loadRegistry has the loads that are running.
type loadRegistry struct {
	lock    sync.Mutex
	running []*load
}

func (r *loadRegistry) start(url string, every time.Duration) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.running = append(r.running, startLoad(url, every))
}

// stop ends all of them and adds their summaries up.
func (r *loadRegistry) stop() summary {
	r.lock.Lock()
	defer r.lock.Unlock()
	total := summary{Answers: map[string]int{}}
	for _, each := range r.running {
		part := each.stop()
		for name, count := range part.Answers {
			total.Answers[name] += count
		}
		total.SlowestMs = max(total.SlowestMs, part.SlowestMs)
	}
	r.running = nil
	return total
}
