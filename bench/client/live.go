package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// played counts what a live cluster has changed.
type played struct {
	Slices     int `json:"slices"`
	Heartbeats int `json:"heartbeats"`
}

// live lets slices change and nodes tell that they are alive, each at an even rate, for so long.
func (s *session) live(c command) (played, error) {
	length := time.Duration(c.Seconds * float64(time.Second))
	var result played
	heartbeats := make(chan error)
	go func() {
		var err error
		result.Heartbeats, err = atRate(c.Heartbeats, length, func(i int) error {
			return s.heartbeat(s.fleetNode(i), &corev1.Node{})
		})
		heartbeats <- err
	}()
	slices, err := atRate(c.Slices, length, func(i int) error {
		// A stride that shares no factor with the number of Services reaches all of them.
		service := i * 7919 % s.cluster.Services
		return s.patchHostname(sliceName(service), i%s.cluster.Endpoints)
	})
	err = errors.Join(err, <-heartbeats)
	result.Slices = slices
	return result, err
}

// atRate calls do so often a second, whether or not the calls before have ended, and returns how often
// it did.
func atRate(perSecond float64, length time.Duration, do func(i int) error) (int, error) {
	end := time.After(length)
	if perSecond == 0 {
		<-end
		return 0, nil
	}
	ticker := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer ticker.Stop()
	results, started := make(chan error, int(perSecond*length.Seconds())+1), 0
	for running := true; running; {
		select {
		case <-ticker.C:
			i := started
			go func() { results <- do(i) }()
			started++
		case <-end:
			running = false
		}
	}
	var err error
	for range started {
		err = errors.Join(err, <-results)
	}
	return started, err
}

// fleetNode takes one site after the other, so that each tells of itself equally often in any time; and
// our own node last.
func (s *session) fleetNode(i int) string {
	sites := max(s.cluster.Sites, s.fleetSites)
	return nodeName(i%sites, (i/sites+1)%s.cluster.perSite())
}

// heartbeat writes the status of a node as its kubelet does, and reads the result.
func (s *session) heartbeat(name string, made *corev1.Node) error {
	now := metav1.Now()
	conditions := []corev1.NodeCondition{}
	for _, kind := range []corev1.NodeConditionType{
		corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure,
	} {
		status := corev1.ConditionFalse
		if kind == corev1.NodeReady {
			status = corev1.ConditionTrue
		}
		conditions = append(conditions, corev1.NodeCondition{
			Type: kind, Status: status, LastHeartbeatTime: now, Reason: "Kubelet" + string(kind),
		})
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions}})
	if err != nil {
		return err
	}
	path := nodes + "/" + name + "/status"
	return s.admin.call(http.MethodPatch, path, strategicPatch, patch, made)
}
