#!/bin/bash
# kubernetes 37.0.2 (Python): kubernetes.informer.SharedInformer with CustomObjectsApi.
# Expected: it takes any "bound API method used for the initial list and as the watch source", and its cache "supports both
#   dict-based objects and generated model objects". So it serves custom resources, which this client returns as dicts.
# Seen: it never gets past the list. It reads the objects with getattr(response, "items"), and of a dict that is the method
#   items(). Each 5 s it lists again and calls the ERROR handlers with a TypeError that names neither the resource nor the
#   response. The cache stays empty. Watch().stream with the same function works, and so does the informer with a typed API.
# Who meets it: operators, whose own resources are custom resources. Where no ERROR handler is set, a log line is all.
# Output, 2026-11-29:
#   SharedInformer, CoreV1Api         cache: default/a  errors: none
#   SharedInformer, CustomObjectsApi  cache: empty  errors: TypeError: 'builtin_function_or_method' object is not iterable
#   Watch, CustomObjectsApi           ADDED a
#   still so
set -u; d=$(mktemp -d); trap 'rm -rf "$d"' EXIT; cd "$d"
{ python3 -m venv v && v/bin/pip install -q kubernetes==37.0.2; } >/dev/null 2>&1 || { echo "install fails"; exit 1; }
cat > t.py <<'P'
import json, logging, os, threading, time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from kubernetes import client, watch
from kubernetes.informer import ADDED, ERROR, SharedInformer

class Api(BaseHTTPRequestHandler):
    """One object of each kind. A watch sends it once more at version 6, and ends two seconds later."""
    def log_message(self, *_): pass
    def do_GET(self):
        version, kind = ('example.com/v1', 'Rule') if 'rules' in self.path else ('v1', 'ConfigMap')
        watched = 'watch=' in self.path
        item = {'apiVersion': version, 'kind': kind, 'metadata': {'name': 'a', 'namespace': 'default', 'resourceVersion': '6' if watched else '5'}}
        body = {'type': 'ADDED', 'object': item} if watched else {'apiVersion': version, 'kind': f'{kind}List', 'metadata': {'resourceVersion': '5'}, 'items': [item]}
        self.send_response(200); self.send_header('Content-Type', 'application/json'); self.end_headers()
        self.wfile.write(json.dumps(body).encode() + b'\n'); self.wfile.flush()
        if watched: time.sleep(2)

logging.disable()
server = ThreadingHTTPServer(('127.0.0.1', 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
configuration = client.Configuration(); configuration.host = f'http://127.0.0.1:{server.server_port}'
connection = client.ApiClient(configuration)
config_maps = client.CoreV1Api(connection).list_namespaced_config_map
rules = partial(client.CustomObjectsApi(connection).list_namespaced_custom_object, 'example.com', 'v1', plural='rules')

def inform(title, function):
    informer, errors, done = SharedInformer(function, namespace='default'), [], threading.Event()
    informer.add_event_handler(ADDED, lambda _: done.set())
    informer.add_event_handler(ERROR, lambda error: (errors.append(f'{type(error).__name__}: {error}'), done.set()))
    informer.start(); done.wait(20); keys = informer.cache.list_keys()
    print(f"{title:33} cache: {', '.join(keys) or 'empty'}  errors: {', '.join(errors) or 'none'}", flush=True)
    return keys, errors

typed, custom = inform('SharedInformer, CoreV1Api', config_maps), inform('SharedInformer, CustomObjectsApi', rules)
event = next(watch.Watch().stream(rules, namespace='default'))
seen = f"{event['type']} {event['object']['metadata']['name']}"
print(f"{'Watch, CustomObjectsApi':33} {seen}", flush=True)
still = typed == (['default/a'], []) and custom[0] == [] and custom[1][0].startswith('TypeError') and seen == 'ADDED a'
os._exit(0 if still else 1)  # The informers' threads go on.
P
timeout 60 v/bin/python t.py; rc=$?; [ $rc = 0 ] && echo "still so" || echo "changed (exit $rc)"; [ $rc = 0 ]
