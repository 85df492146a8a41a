#!/bin/bash
# kubernetes 37.0.2 and kubernetes_asyncio 36.1.0 (Python): Watch().stream with send_initial_events=True.
# Expected: "The method tries to resume automatically once from the last result" (its docstring): when the server ends a
#   watch, as it does each 30 to 60 minutes, the stream goes on from the last version, and a deletion in between is an event.
# Seen: the client asks again with the last version and with sendInitialEvents=true. The server then does not resume. It
#   sends the present state as ADDED events: unchanged objects come again, and an object deleted in between is never
#   reported. Without the option the same stream gets DELETED. kube-apiserver 1.36.3 answers as the server below does.
# Who meets it: operators that use streaming lists instead of list and watch. A cache that is filled from the events keeps
#   deleted objects, and code that takes ADDED for "created" runs again. The end of the initial events (the bookmark with
#   k8s.io/initial-events-end) is the only sign: all that was not sent before it has to be removed.
# Output, 2026-11-29:
#   b is deleted while the watch is reconnected
#   kubernetes          initial events: ADDED a, ADDED b, BOOKMARK | then: ADDED a, BOOKMARK
#   kubernetes          from a version: BOOKMARK | then: DELETED b
#   kubernetes_asyncio  initial events: ADDED a, ADDED b, BOOKMARK | then: ADDED a, BOOKMARK
#   kubernetes_asyncio  from a version: BOOKMARK | then: DELETED b
#   still so
set -u; d=$(mktemp -d); trap 'rm -rf "$d"' EXIT; cd "$d"
{ python3 -m venv v && v/bin/pip install -q kubernetes==37.0.2 kubernetes_asyncio==36.1.0; } >/dev/null 2>&1 || { echo "install fails"; exit 1; }
cat > t.py <<'P'
import asyncio, json, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
import kubernetes, kubernetes_asyncio

watches = []  # The query of each watch.

class Api(BaseHTTPRequestHandler):
    """Has the ConfigMaps a and b at version 10, and ends a watch after its bookmark. Then b is deleted, at version 11."""
    def log_message(self, *_): pass
    def do_GET(self):
        query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        watches.append(query)
        names, now = (['a', 'b'], '10') if len(watches) == 1 else (['a'], '11')
        if query.get('sendInitialEvents', '').lower() == 'true': events = [('ADDED', name, '5') for name in names]
        else: events = [('DELETED', 'b', '11')] if query['resourceVersion'] < now else []
        self.send_response(200); self.send_header('Content-Type', 'application/json'); self.end_headers()
        for kind, name, version in [*events, ('BOOKMARK', None, now)]:
            metadata = {'resourceVersion': version}
            if name: metadata.update(name=name, namespace='default')
            elif 'sendInitialEvents' in query: metadata['annotations'] = {'k8s.io/initial-events-end': 'true'}
            event = {'type': kind, 'object': {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': metadata}}
            self.wfile.write(json.dumps(event).encode() + b'\n')

server = ThreadingHTTPServer(('127.0.0.1', 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()

def configuration(package):
    made = package.client.Configuration(); made.host = f'http://127.0.0.1:{server.server_port}'
    return made

class Seen:
    """The events of the first two connections; add() says when there were enough."""
    def __init__(self): self.events, self.bookmarks = ([], []), 0
    def add(self, event):
        name = event['raw_object']['metadata'].get('name')
        self.events[self.bookmarks].append(event['type'] + (f' {name}' if name else ''))
        self.bookmarks += event['type'] == 'BOOKMARK'
        return self.bookmarks == 2 or event['type'] == 'DELETED'

def threads(options):
    api = kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(configuration(kubernetes))); seen = Seen()
    for event in kubernetes.watch.Watch().stream(api.list_namespaced_config_map, 'default', **options):
        if seen.add(event): return seen.events

async def tasks(options):
    seen = Seen()
    async with kubernetes_asyncio.client.ApiClient(configuration(kubernetes_asyncio)) as client:
        api = kubernetes_asyncio.client.CoreV1Api(client)
        async with kubernetes_asyncio.watch.Watch().stream(api.list_namespaced_config_map, 'default', **options) as stream:
            async for event in stream:
                if seen.add(event): return seen.events

print('b is deleted while the watch is reconnected'); still = True
for package, run in [('kubernetes', threads), ('kubernetes_asyncio', lambda options: asyncio.run(tasks(options)))]:
    for title, options, last in [
        ('initial events', dict(send_initial_events=True, resource_version_match='NotOlderThan'), ['ADDED a', 'BOOKMARK']),
        ('from a version', dict(resource_version='10'), ['DELETED b'])]:
        watches.clear(); before, after = run(dict(options, allow_watch_bookmarks=True))
        print(f"{package:19} {title}: {', '.join(before)} | then: {', '.join(after)}")
        still = still and after == last and watches[1]['resourceVersion'] == '10'
sys.exit(0 if still else 1)
P
timeout 60 v/bin/python t.py; rc=$?; [ $rc = 0 ] && echo "still so" || echo "changed (exit $rc)"; [ $rc = 0 ]
