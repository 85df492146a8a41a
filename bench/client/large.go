package main

import (
	"fmt"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The large Service: its endpoints are spread over all sites, and one is on our own node. That one is
// not ready at first, so that the node sees the endpoints of its site: one in ten of each slice.
const (
	largeName      = "bench-large"
	largeSlices    = 100
	largeEndpoints = 100
	largeKeys      = `["kubernetes.io/hostname","` + siteLabel + `","*"]`
)

func largeSliceName(slice int) string { return fmt.Sprintf("%s-%02d", largeName, slice) }

// createLarge makes the Service and its slices.
func (s *session) createLarge() error {
	if s.cluster.perSite() < 2 {
		return fmt.Errorf("our site needs a second node")
	}
	service := s.cluster.service(s.cluster.Services)
	service.Name, service.Annotations = largeName, map[string]string{"topologyKeys": largeKeys}
	if err := s.admin.create(servicesOfNamespace, service, service); err != nil {
		return err
	}
	for slice := range largeSlices {
		made := &discoveryv1.EndpointSlice{}
		if err := s.admin.create(slicesOfNamespace, s.cluster.largeSlice(slice), made); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) deleteLarge() error {
	if _, err := s.admin.write(http.MethodDelete, servicesOfNamespace+"/"+largeName, "", nil); err != nil {
		return err
	}
	query := url.Values{"labelSelector": {discoveryv1.LabelServiceName + "=" + largeName}}
	_, err := s.admin.write(http.MethodDelete, slicesOfNamespace+"?"+query.Encode(), "", nil)
	return err
}

func (w cluster) largeSlice(slice int) *discoveryv1.EndpointSlice {
	made := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: largeSliceName(slice), Namespace: namespace,
			Labels: map[string]string{discoveryv1.LabelServiceName: largeName},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{port("http", 8080)},
	}
	for endpoint := range largeEndpoints {
		node, number := nodeName(w.largePlace(slice, endpoint)), slice*largeEndpoints+endpoint
		ready := node != ownName
		made.Endpoints = append(made.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.200.%d.%d", number>>8, number&255)},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			NodeName:   &node,
			TargetRef: &corev1.ObjectReference{
				Kind: "Pod", Namespace: namespace, Name: podName(largeName, w.Services, w.Services*w.Endpoints+number),
				UID: uid("large", number),
			},
		})
	}
	return made
}

// largePlace returns the node of an endpoint. Only the very first is on our own node.
func (w cluster) largePlace(slice, endpoint int) (site, index int) {
	site = endpoint % w.Sites
	if slice == 0 && endpoint == 0 {
		return site, 0
	}
	return site, 1 + (slice+endpoint/w.Sites)%(w.perSite()-1)
}

// largeVisible returns how many endpoints of a slice the node sees, by whether that of its own is ready.
func (w cluster) largeVisible(slice int, ownIsReady bool) int {
	if !ownIsReady {
		return largeEndpoints / w.Sites
	}
	if slice == 0 {
		return 1
	}
	return 0
}

// timeLargeHostnames changes a field that no decision reads, of an endpoint that the node sees.
func (s *session) timeLargeHostnames(c command) (latencies, error) {
	return s.timePatches(c, func(i int) (expected, error) {
		slice := i % largeSlices
		err := s.patchHostname(largeSliceName(slice), s.cluster.Sites)
		return expected{largeSliceName(slice), s.cluster.largeVisible(slice, false)}, err
	})
}

// timeLargeReadiness lets an endpoint of the site fail, and then be ready again: all slices are decided
// again, and one changes.
func (s *session) timeLargeReadiness(c command) (latencies, error) {
	return s.timePatches(c, func(i int) (expected, error) {
		slice := i / 2 % largeSlices
		err := s.patchSlice(largeSliceName(slice), readiness(s.cluster.Sites, i%2 == 1))
		return expected{largeSliceName(slice), s.cluster.largeVisible(slice, false)}, err
	})
}

func readiness(endpoint int, ready bool) string {
	path := fmt.Sprintf("/endpoints/%d/conditions/ready", endpoint)
	return fmt.Sprintf(`[{"op":"replace","path":%q,"value":%t}]`, path, ready)
}

// timeLargeKeys makes the endpoint on our own node ready, and not ready again, Count times: another key
// wins, so that all slices change. Times count from the arrival of the one slice at a direct watcher.
func (s *session) timeLargeKeys(c command) ([]relabelling, error) {
	direct, directEvents, err := startFollowing(s.direct, slicesQuestion)
	if err != nil {
		return nil, err
	}
	defer direct.close()
	stream, events, err := startFollowing(s.wrapper, slicesQuestion)
	if err != nil {
		return nil, err
	}
	defer stream.close()
	results := []relabelling{}
	for i := range 2 * c.Count {
		if err := s.patchSlice(largeSliceName(0), readiness(0, i%2 == 0)); err != nil {
			return nil, err
		}
		changed, err := arrival(directEvents, largeSliceName(0))
		if err != nil {
			return nil, err
		}
		result, err := countEvents(events, changed.at, largeSlices, func(received event) error {
			return s.checkLarge(received, i%2 == 0)
		})
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

func (s *session) checkLarge(received event, ownIsReady bool) error {
	slice, err := sliceIn(received)
	if err != nil {
		return err
	}
	var number int
	if _, err := fmt.Sscanf(slice.Name, largeName+"-%d", &number); err != nil {
		return fmt.Errorf("an event of %q: %w", slice.Name, err)
	}
	return expected{slice.Name, s.cluster.largeVisible(number, ownIsReady)}.checkSlice(slice)
}
