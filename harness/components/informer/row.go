package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// row is one object as a test wants to see it.
type row struct {
	// Key is namespace/name.
	Key             string `json:"key"`
	ResourceVersion string `json:"resourceVersion"`
	// Endpoints are the addresses, sorted; " notReady" is appended to those that are not ready.
	Endpoints []string `json:"endpoints"`
	// Hash is of all but the resourceVersion, the same for JSON and protobuf.
	Hash string `json:"hash"`
}

// describe takes an object out of an informer, which it does not change.
func describe(object any) row {
	copied := object.(runtime.Object).DeepCopyObject()
	accessor, err := meta.Accessor(copied)
	if err != nil {
		panic(err)
	}
	described := row{
		Key:             strings.TrimPrefix(accessor.GetNamespace()+"/"+accessor.GetName(), "/"),
		ResourceVersion: accessor.GetResourceVersion(),
		Endpoints:       endpointsOf(copied),
	}
	accessor.SetResourceVersion("")
	text, err := json.Marshal(copied)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	described.Hash = hex.EncodeToString(sum[:8])
	return described
}

func endpointsOf(object runtime.Object) []string {
	endpoints := []string{}
	add := func(address string, isReady bool) {
		if !isReady {
			address += " notReady"
		}
		endpoints = append(endpoints, address)
	}
	switch typed := object.(type) {
	case *discoveryv1.EndpointSlice:
		for _, endpoint := range typed.Endpoints {
			// A nil condition means ready.
			ready := endpoint.Conditions.Ready
			for _, address := range endpoint.Addresses {
				add(address, ready == nil || *ready)
			}
		}
	case *corev1.Endpoints:
		for _, subset := range typed.Subsets {
			for _, address := range subset.Addresses {
				add(address.IP, true)
			}
			for _, address := range subset.NotReadyAddresses {
				add(address.IP, false)
			}
		}
	case *corev1.Service, *corev1.Node:
	default:
		panic(fmt.Sprintf("unknown kind %T", object))
	}
	slices.Sort(endpoints)
	return endpoints
}

func sortRows(rows []row) []row {
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.Key, b.Key) })
	if rows == nil {
		return []row{}
	}
	return rows
}
