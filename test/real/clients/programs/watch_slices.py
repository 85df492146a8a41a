"""Follows the EndpointSlices of the namespace default with one of several libraries.

Usage: watch_slices.py LIBRARY KUBECONFIG. Each line of the output is what it has then, as JSON: the sorted addresses.
A library that leaves the next list to its user gets it after a second.
"""

import asyncio
import json
import os
import ssl
import sys
import time

library, path = sys.argv[1:]
NAMESPACE = "default"
slices = {}


def name_of(item):
    return item["metadata"]["name"]


def put(item):
    endpoints = item.get("endpoints") or []
    slices[name_of(item)] = [a for e in endpoints for a in e["addresses"]]


def show():
    print(json.dumps(sorted(a for each in slices.values() for a in each)), flush=True)


def take(kind, item):
    if kind == "DELETED":
        slices.pop(name_of(item), None)
    else:
        put(item)
    show()


def replace(items):
    slices.clear()
    for item in items:
        put(item)
    show()


def again(error):
    print(f"{type(error).__name__}: {str(error)[:200]}", file=sys.stderr, flush=True)


def run_kubernetes():
    from kubernetes import client, config, watch

    config.load_kube_config(path)
    api = client.DiscoveryV1Api()
    raw = client.ApiClient().sanitize_for_serialization
    while True:
        try:
            listed = api.list_namespaced_endpoint_slice(NAMESPACE)
            replace([raw(each) for each in listed.items])
            version = listed.metadata.resource_version
            events = watch.Watch().stream(
                api.list_namespaced_endpoint_slice, NAMESPACE, resource_version=version
            )
            for event in events:
                take(event["type"], event["raw_object"])
        except Exception as error:
            again(error)
            time.sleep(1)


async def run_kubernetes_asyncio():
    from kubernetes_asyncio import client, config, watch

    await config.load_kube_config(path)
    async with client.ApiClient() as connection:
        api = client.DiscoveryV1Api(connection)
        raw = connection.sanitize_for_serialization
        while True:
            try:
                listed = await api.list_namespaced_endpoint_slice(NAMESPACE)
                replace([raw(each) for each in listed.items])
                version = listed.metadata.resource_version
                stream = watch.Watch().stream(
                    api.list_namespaced_endpoint_slice, NAMESPACE, resource_version=version
                )
                async for event in stream:
                    take(event["type"], event["raw_object"])
            except Exception as error:
                again(error)
                await asyncio.sleep(1)


def run_lightkube():
    from lightkube import Client, KubeConfig
    from lightkube.resources.discovery_v1 import EndpointSlice

    client = Client(config=KubeConfig.from_file(path), namespace=NAMESPACE)
    while True:
        try:
            listed = client.list(EndpointSlice)
            replace([each.to_dict() for each in listed])
            for kind, item in client.watch(EndpointSlice, resource_version=listed.resourceVersion):
                take(kind, item.to_dict())
        except Exception as error:
            again(error)
            time.sleep(1)


async def run_kr8s():
    import kr8s.asyncio

    api = await kr8s.asyncio.api(kubeconfig=path, namespace=NAMESPACE)
    while True:
        try:
            slices.clear()
            async for kind, item in api.watch("endpointslices.discovery.k8s.io", namespace=NAMESPACE):
                take(kind, item.raw)
        except Exception as error:
            again(error)
            await asyncio.sleep(1)


def run_kopf():
    # The libraries by which it finds its credentials read it when they are imported.
    os.environ["KUBECONFIG"] = path
    import kopf

    @kopf.on.event("discovery.k8s.io", "v1", "endpointslices")
    def on_event(type, body, **_):
        take(type, body)

    kopf.run(standalone=True, namespaces=[NAMESPACE])


def run_pykube():
    import pykube

    api = pykube.HTTPClient(pykube.KubeConfig.from_file(path))
    kind = pykube.object_factory(api, "discovery.k8s.io/v1", "EndpointSlice")
    while True:
        try:
            query = kind.objects(api, namespace=NAMESPACE)
            replace([each.obj for each in query])
            for event in query.watch():
                take(event.type, event.object.obj)
        except Exception as error:
            again(error)
            time.sleep(1)


async def run_easykube():
    from easykube import Configuration

    # Its own reader of kubeconfigs knows client certificates only.
    with open(path) as file:
        config = json.load(file)
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    options = {"base_url": cluster["server"]}
    if "token" in user:
        options["headers"] = {"authorization": f"Bearer {user['token']}"}
        options["verify"] = ssl.create_default_context(cafile=cluster["certificate-authority"])
    async with Configuration(**options).async_client() as client:
        api = await client.api("discovery.k8s.io/v1").resource("endpointslices")
        while True:
            try:
                listed, events = await api.watch_list(namespace=NAMESPACE)
                replace(listed)
                async for event in events:
                    take(event["type"], event["object"])
            except Exception as error:
                again(error)
                await asyncio.sleep(1)


async def run_kubesdk():
    from kube_models.apis_discovery_k8s_io_v1.io.k8s.api.discovery.v1 import EndpointSlice
    from kubesdk import KubeConfig, login, watch_k8s_resources

    await login(KubeConfig(path=path))
    while True:
        try:
            slices.clear()
            async for event in watch_k8s_resources(EndpointSlice, namespace=NAMESPACE):
                take(event.type, event.object.to_dict())
        except Exception as error:
            again(error)
            await asyncio.sleep(1)


run = globals()[f"run_{library}"]
if asyncio.iscoroutinefunction(run):
    asyncio.run(run())
else:
    run()
