package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	protobufcodec "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// workers write at the same time.
const workers = 32

var objects = protobufcodec.NewSerializer(scheme(), scheme())

func scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	_ = serializer.NewCodecFactory(scheme)
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}

// create writes an object as protobuf and reads what the server made of it into the same object.
func (t *target) create(path string, object runtime.Object) error {
	body, err := runtime.Encode(objects, object)
	if err != nil {
		return err
	}
	answer, err := t.write(http.MethodPost, path, protobuf, body)
	if err != nil {
		return err
	}
	_, _, err = objects.Decode(answer, nil, object)
	return err
}

func (s *session) createNodes() error {
	for site := range s.world.Sites {
		for index := range s.world.perSite() {
			node := s.world.node(site, index)
			node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
			if err := s.admin.create(nodes, node); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadServices creates all Services with their slices and returns how long it took.
func (s *session) loadServices() (float64, error) {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	space.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := s.admin.create("/api/v1/namespaces", space); err != nil {
		return 0, err
	}
	return s.forEachService(func(i int) error {
		service := s.world.service(i)
		service.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
		if err := s.admin.create("/api/v1/namespaces/"+namespace+"/services", service); err != nil {
			return err
		}
		slice := s.world.slice(i)
		slice.SetGroupVersionKind(discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"))
		return s.admin.create(slicesOfNamespace, slice)
	})
}

const slicesOfNamespace = "/apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices"

// annotateServices gives all Services the same topology keys.
func (s *session) annotateServices() (float64, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{"topologyKeys": topologyKeys}},
	})
	if err != nil {
		return 0, err
	}
	return s.forEachService(func(i int) error {
		path := fmt.Sprintf("/api/v1/namespaces/%s/services/%s", namespace, serviceName(i))
		_, err := s.admin.write(http.MethodPatch, path, "application/merge-patch+json", patch)
		return err
	})
}

func (s *session) forEachService(do func(service int) error) (float64, error) {
	start, next := time.Now(), make(chan int)
	errors := make(chan error, workers)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for service := range next {
				if err := do(service); err != nil {
					errors <- err
					return
				}
			}
		})
	}
	go func() {
		defer close(next)
		for service := range s.world.Services {
			next <- service
		}
	}()
	finished := make(chan struct{})
	go func() { running.Wait(); close(finished) }()
	select {
	case err := <-errors:
		return 0, err
	case <-finished:
		return milliseconds(time.Since(start)), nil
	}
}
