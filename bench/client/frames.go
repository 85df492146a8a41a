package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// event is one frame of a watch stream. Decoding is left to those who need more than its type, so
// that reading a frame costs next to nothing.
type event struct {
	kind string
	body []byte
	at   time.Time
}

// watch is an open watch stream of protobuf frames.
type watch struct {
	response *http.Response
	reader   *bufio.Reader
	cancel   context.CancelFunc
}

// openWatch begins with a streaming list, as kube-proxy does since 1.35.
func openWatch(t *target, asked question) (*watch, error) {
	return openWatchWith(context.Background(), t, asked, initialEvents)
}

var initialEvents = url.Values{"sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}}

// openWatchWith opens a watch that also ends with the context. Its start is where it begins.
func openWatchWith(ctx context.Context, t *target, asked question, start url.Values) (*watch, error) {
	query := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "timeoutSeconds": {t.watchSeconds()}}
	for _, more := range []url.Values{start, asked.query} {
		for name, values := range more {
			query[name] = values
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	response, err := t.get(ctx, asked.path, query)
	if err != nil {
		cancel()
		return nil, err
	}
	return &watch{response, bufio.NewReaderSize(response.Body, 1<<18), cancel}, nil
}

func (w *watch) close() {
	w.cancel()
	_ = w.response.Body.Close()
}

// next reads one frame. With keep it holds the frame's bytes too; those of a bookmark it always does.
func (w *watch) next(keep bool) (event, error) {
	var header [4]byte
	if _, err := io.ReadFull(w.reader, header[:]); err != nil {
		return event{}, err
	}
	size := int(binary.BigEndian.Uint32(header[:]))
	start, err := w.reader.Peek(min(size, 12))
	if err != nil {
		return event{}, err
	}
	kind := string(field(start, 1))
	if kind == "ERROR" {
		keep = true
	}
	if !keep && kind != "BOOKMARK" {
		_, err = w.reader.Discard(size)
		return event{kind, nil, time.Now()}, err
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(w.reader, body); err != nil {
		return event{}, err
	}
	received := event{kind, body, time.Now()}
	if kind == "ERROR" {
		return received, fmt.Errorf("ERROR event: %q", body)
	}
	return received, nil
}

// skipInitial reads up to the end of the initial events; it returns their number and the version.
func (w *watch) skipInitial() (int, string, error) {
	for count := 0; ; count++ {
		received, err := w.next(false)
		if err != nil {
			return 0, "", err
		}
		if bytes.Contains(received.body, []byte("k8s.io/initial-events-end")) {
			return count, objectVersion(received.body), nil
		}
	}
}

// skipToEnd reads until the stream ends, and returns the version of the last bookmark; default: the given one.
func (w *watch) skipToEnd(version string) string {
	for {
		received, err := w.next(false)
		if err != nil {
			return version
		}
		if received.kind == "BOOKMARK" {
			version = objectVersion(received.body)
		}
	}
}

// follow sends all further events that are no bookmarks until the stream ends.
func (w *watch) follow(events chan<- event, keep bool) {
	for {
		received, err := w.next(keep)
		if err != nil {
			close(events)
			return
		}
		if received.kind != "BOOKMARK" {
			events <- received
		}
	}
}

// objectName reads metadata.name out of a frame.
func objectName(frame []byte) string { return string(field(metadata(frame), 1)) }

// objectVersion reads metadata.resourceVersion out of a frame.
func objectVersion(frame []byte) string { return string(field(metadata(frame), 6)) }

// metadata finds an object's in a frame: WatchEvent.object.raw, "k8s\0", Unknown.raw.
func metadata(frame []byte) []byte {
	envelope := field(field(frame, 2), 1)
	if len(envelope) < 4 {
		return nil
	}
	return field(field(envelope[4:], 2), 1)
}

// sliceIn decodes the EndpointSlice of an event.
func sliceIn(received event) (discoveryv1.EndpointSlice, error) {
	var slice discoveryv1.EndpointSlice
	_, _, err := objects.Decode(field(field(received.body, 2), 1), nil, &slice)
	return slice, err
}

// field finds a length-delimited field of a protobuf message that holds only such and varints
// before it; nil if there is none.
func field(message []byte, number uint64) []byte {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		message = message[max(n, 0):]
		value, m := binary.Uvarint(message)
		if n <= 0 || m <= 0 {
			return nil
		}
		message = message[m:]
		if tag&7 == 0 {
			continue
		}
		if tag&7 != 2 || value > uint64(len(message)) {
			return nil
		}
		if tag>>3 == number {
			return message[:value]
		}
		message = message[value:]
	}
	return nil
}
