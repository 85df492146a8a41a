package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// variant is one informer to run.
type variant struct {
	Name string `json:"name"`
	// Server is a URL, for one without credentials; else Kubeconfig is a path.
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	// Resource is endpointslices, endpoints, services or nodes.
	Resource      string `json:"resource"`
	Namespace     string `json:"namespace"`
	LabelSelector string `json:"labelSelector"`
	FieldSelector string `json:"fieldSelector"`
	// ResyncSeconds is the resync period; 0 is never, as most informers have it.
	ResyncSeconds float64 `json:"resyncSeconds"`
	// HandlerResyncSeconds is that of the event handler; left out, it is that of the informer. A handler
	// that is not in a resync phase never hears of an update that keeps the resourceVersion. It is in one
	// from the start until the informer's first resync, so in an informer without resync for ever.
	HandlerResyncSeconds *float64 `json:"handlerResyncSeconds"`
	// ContentType is protobuf or json.
	ContentType string `json:"contentType"`
	// Streaming is a list by a watch with sendInitialEvents; else LIST, then WATCH.
	Streaming bool `json:"streaming"`
}

// report is what an informer holds.
type report struct {
	Name string `json:"name"`
	// Store is the informer's store.
	Store []row `json:"store"`
	// Handled is the same as rebuilt from nothing but the calls of the event handler.
	Handled []row `json:"handled"`
	// Calls counts the calls of the event handler.
	Calls calls `json:"calls"`
	// ResourceVersion is the last that the reflector has seen, bookmarks included.
	ResourceVersion string `json:"resourceVersion"`
	// Errors are the failures of lists and watches so far.
	Errors []string `json:"errors"`
}

type calls struct {
	Add    int `json:"add"`
	Update int `json:"update"`
	Delete int `json:"delete"`
}

// watcher is a running informer with an event handler that keeps books.
type watcher struct {
	variant  variant
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandlerRegistration

	mutex   sync.Mutex
	handled map[string]row
	calls   calls
	errors  []string
}

// noStreaming tells the reflector, which asks for this method, to LIST.
type noStreaming struct{}

func (noStreaming) IsWatchListSemanticsUnSupported() bool { return true }

func newWatcher(v variant) (*watcher, error) {
	kind, err := kindOf(v.Resource)
	if err != nil {
		return nil, err
	}
	client, err := restClient(v, kind.version)
	if err != nil {
		return nil, err
	}
	var semantics any
	if !v.Streaming {
		semantics = noStreaming{}
	}
	lw := cache.ToListWatcherWithWatchListSemantics(cache.NewFilteredListWatchFromClient(
		client, v.Resource, v.Namespace, func(options *metav1.ListOptions) {
			options.LabelSelector = v.LabelSelector
			options.FieldSelector = v.FieldSelector
		}), semantics)
	resync := time.Duration(v.ResyncSeconds * float64(time.Second))
	handlerResync := resync
	if v.HandlerResyncSeconds != nil {
		handlerResync = time.Duration(*v.HandlerResyncSeconds * float64(time.Second))
	}
	w := &watcher{variant: v, handled: map[string]row{}, errors: []string{}}
	w.informer = cache.NewSharedIndexInformerWithOptions(lw, kind.example,
		cache.SharedIndexInformerOptions{ResyncPeriod: resync})
	if err := w.informer.SetWatchErrorHandlerWithContext(w.onError); err != nil {
		return nil, err
	}
	w.handler, err = w.informer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.set(object, &w.calls.Add) },
		UpdateFunc: func(_, object any) { w.set(object, &w.calls.Update) },
		DeleteFunc: w.remove,
	}, handlerResync)
	return w, err
}

type kind struct {
	version schema.GroupVersion
	example runtime.Object
}

func kindOf(resource string) (kind, error) {
	switch resource {
	case "endpointslices":
		return kind{discoveryv1.SchemeGroupVersion, &discoveryv1.EndpointSlice{}}, nil
	case "endpoints":
		return kind{corev1.SchemeGroupVersion, &corev1.Endpoints{}}, nil
	case "services":
		return kind{corev1.SchemeGroupVersion, &corev1.Service{}}, nil
	case "nodes":
		return kind{corev1.SchemeGroupVersion, &corev1.Node{}}, nil
	}
	return kind{}, fmt.Errorf("unknown resource %q", resource)
}

func restClient(v variant, version schema.GroupVersion) (*rest.RESTClient, error) {
	config, err := clientcmd.BuildConfigFromFlags(v.Server, v.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.GroupVersion = &version
	config.APIPath = "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.UserAgent = "informer/" + v.Name
	config.QPS = -1
	if v.ContentType == "protobuf" {
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	}
	return rest.RESTClientFor(config)
}

func (w *watcher) set(object any, count *int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	*count++
	described := describe(object)
	w.handled[described.Key] = described
}

func (w *watcher) remove(object any) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.calls.Delete++
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		w.errors = append(w.errors, err.Error())
	}
	delete(w.handled, key)
}

func (w *watcher) onError(_ context.Context, _ *cache.Reflector, err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.errors = append(w.errors, err.Error())
}

func (w *watcher) report() report {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	store := []row{}
	for _, object := range w.informer.GetStore().List() {
		store = append(store, describe(object))
	}
	return report{
		Name:            w.variant.Name,
		Store:           sortRows(store),
		Handled:         sortRows(slices.Collect(maps.Values(w.handled))),
		Calls:           w.calls,
		ResourceVersion: w.informer.LastSyncResourceVersion(),
		Errors:          slices.Clone(w.errors),
	}
}
