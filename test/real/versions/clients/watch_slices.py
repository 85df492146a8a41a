"""Lists EndpointSlices of a namespace and follows them with the Kubernetes client for Python.

Usage: watch_slices.py KUBECONFIG NAMESPACE. Each line of the output is what it has then, as JSON: addresses by the name
of the slice.
"""

import json
import sys

from kubernetes import client, config, watch

path, namespace = sys.argv[1:]
config.load_kube_config(path)
api = client.DiscoveryV1Api()
slices = {}


def store(item):
    endpoints = item.endpoints or []
    slices[item.metadata.name] = sorted(a for e in endpoints for a in e.addresses)


listed = api.list_namespaced_endpoint_slice(namespace)
for item in listed.items:
    store(item)
print(json.dumps(slices), flush=True)
version = listed.metadata.resource_version
stream = watch.Watch().stream(
    api.list_namespaced_endpoint_slice, namespace, resource_version=version
)
for event in stream:
    if event["type"] == "DELETED":
        slices.pop(event["object"].metadata.name, None)
    else:
        store(event["object"])
    print(json.dumps(slices), flush=True)
