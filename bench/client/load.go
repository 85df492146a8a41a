package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	protobufcodec "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// maxPerSite keeps the numbers of nodes apart.
const maxPerSite = 1 << 20

const (
	ipAddresses         = "/apis/networking.k8s.io/v1/ipaddresses"
	servicesOfNamespace = "/api/v1/namespaces/" + namespace + "/services"
	slicesOfNamespace   = "/apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices"
)

// objects reads and writes protobuf, as sent to the API server and as stored in etcd.
var objects = protobufcodec.NewSerializer(scheme, scheme)

var scheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, discoveryv1.AddToScheme, networkingv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}()

// templates are objects as the API server completed them: with defaults and managedFields.
type templates struct {
	node      corev1.Node
	service   corev1.Service
	slice     discoveryv1.EndpointSlice
	ipAddress networkingv1.IPAddress
}

// create writes an object and reads what the server made of it into `made`.
func (t *target) create(path string, object, made runtime.Object) error {
	kinds, _, err := scheme.ObjectKinds(object)
	if err != nil {
		return err
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	body, err := runtime.Encode(objects, object)
	if err != nil {
		return err
	}
	return t.call(http.MethodPost, path, protobuf, body, made)
}

func (t *target) call(method, path, contentType string, body []byte, answer runtime.Object) error {
	text, err := t.write(method, path, contentType, body)
	if err != nil {
		return err
	}
	_, _, err = objects.Decode(text, nil, answer)
	return err
}

// createNodes makes our own node through the API, with a first heartbeat, and all others as copies of
// it in etcd.
func (s *session) createNodes() error {
	if err := s.admin.create(nodes, s.cluster.node(0, 0), &s.templates.node); err != nil {
		return err
	}
	if err := s.heartbeat(ownName, &s.templates.node); err != nil {
		return err
	}
	writer := &etcdWriter{url: s.etcd}
	for i := range crowds {
		site, index := s.cluster.home(i)
		if err := writer.put(s.nodeCopy(site, index)); err != nil {
			return err
		}
	}
	return s.writeSites(writer, 0, s.cluster.Sites)
}

// createFleet adds sites until there are so many, each with as many nodes as the others.
func (s *session) createFleet(c command) error {
	s.fleetSites = c.Sites
	return s.writeSites(&etcdWriter{url: s.etcd}, s.cluster.Sites, c.Sites)
}

// writeSites writes the nodes of the sites from first to before end, except our own, and waits until
// the API server has them.
func (s *session) writeSites(writer *etcdWriter, first, end int) error {
	for site := first; site < end; site++ {
		for index := range s.cluster.perSite() {
			if nodeName(site, index) == ownName {
				continue
			}
			if err := writer.put(s.nodeCopy(site, index)); err != nil {
				return err
			}
		}
	}
	if err := writer.flush(); err != nil {
		return err
	}
	return s.awaitWritten()
}

// loadServices makes the first Service and its slice through the API, and all others as copies of
// these in etcd: for each cluster IP that it gives away, the API server counts all that it has
// given away before, so that 10,000 Services would take minutes. Returns how long it took.
func (s *session) loadServices() (float64, error) {
	start := time.Now()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := s.admin.create("/api/v1/namespaces", space, space); err != nil {
		return 0, err
	}
	if err := s.admin.create(servicesOfNamespace, s.cluster.service(0), &s.templates.service); err != nil {
		return 0, err
	}
	if err := s.admin.create(slicesOfNamespace, s.cluster.slice(0), &s.templates.slice); err != nil {
		return 0, err
	}
	path := ipAddresses + "/" + clusterIP(0)
	if err := s.admin.call(http.MethodGet, path, "", nil, &s.templates.ipAddress); err != nil {
		return 0, err
	}
	return s.writeCopies(start, func(service int) []stored {
		return []stored{s.ipAddressCopy(service), s.serviceCopy(service), s.sliceCopy(service)}
	})
}

// annotateServices gives all Services the same topology keys.
func (s *session) annotateServices(keys string) (float64, error) {
	start := time.Now()
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{"topologyKeys": keys}},
	})
	if err != nil {
		return 0, err
	}
	s.labels.noRooms = !strings.Contains(keys, roomLabel)
	path := servicesOfNamespace + "/" + serviceName(0)
	if err := s.admin.call(http.MethodPatch, path, mergePatch, patch, &s.templates.service); err != nil {
		return 0, err
	}
	return s.writeCopies(start, func(service int) []stored {
		return []stored{s.serviceCopy(service)}
	})
}

// writeCopies writes those of all Services but the first, and waits until the API server has them.
func (s *session) writeCopies(start time.Time, copies func(service int) []stored) (float64, error) {
	writer := &etcdWriter{url: s.etcd}
	for service := 1; service < s.cluster.Services; service++ {
		for _, copied := range copies(service) {
			if err := writer.put(copied); err != nil {
				return 0, err
			}
		}
	}
	if err := writer.flush(); err != nil {
		return 0, err
	}
	err := s.awaitWritten()
	return milliseconds(time.Since(start)), err
}

// awaitWritten waits until the API server has what was written to etcd.
func (s *session) awaitWritten() error {
	// A streaming list without a resourceVersion is as new as etcd.
	for _, question := range questionsOf(ownName) {
		if err := s.awaitAnswer(question); err != nil {
			return err
		}
	}
	return nil
}

// awaitAnswer repeats a streaming list, for the API server ends one with an error when its cache takes
// more than 3 seconds to become as new.
func (s *session) awaitAnswer(asked question) error {
	for deadline := time.Now().Add(time.Minute); ; {
		_, _, err := timeStream(s.direct, asked)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func (s *session) nodeCopy(site, index int) stored {
	object, made := s.templates.node.DeepCopy(), s.cluster.node(site, index)
	object.Name, object.Labels, object.Annotations = made.Name, made.Labels, made.Annotations
	object.ResourceVersion = ""
	object.UID = uid("node", site*maxPerSite+index)
	return stored{"minions/" + object.Name, object}
}

func (s *session) serviceCopy(service int) stored {
	object, made := s.templates.service.DeepCopy(), s.cluster.service(service)
	object.Name, object.Labels, object.ResourceVersion = made.Name, made.Labels, ""
	object.UID = uid("service", service)
	object.Spec.Selector = made.Spec.Selector
	object.Spec.ClusterIP, object.Spec.ClusterIPs = clusterIP(service), []string{clusterIP(service)}
	return stored{"services/specs/" + namespace + "/" + object.Name, object}
}

func (s *session) sliceCopy(service int) stored {
	object, made := s.templates.slice.DeepCopy(), s.cluster.slice(service)
	object.Name, object.Labels, object.ResourceVersion = made.Name, made.Labels, ""
	object.UID = uid("slice", service)
	object.Endpoints = made.Endpoints
	return stored{"endpointslices/" + namespace + "/" + object.Name, object}
}

func (s *session) ipAddressCopy(service int) stored {
	object := s.templates.ipAddress.DeepCopy()
	object.Name, object.ResourceVersion = clusterIP(service), ""
	object.UID = uid("address", service)
	object.Spec.ParentRef.Name = serviceName(service)
	return stored{"ipaddresses/" + object.Name, object}
}
