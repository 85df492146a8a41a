package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
)

// An etcd takes this many operations and bytes in a transaction; the limits are 128 and 1.5 MB.
const (
	maxOperations = 100
	maxBytes      = 1 << 20
)

// stored is an object below /registry, encoded as kube-apiserver stores it.
type stored struct {
	key    string
	object runtime.Object
}

// etcdWriter collects objects and writes them in transactions over etcd's JSON gateway.
type etcdWriter struct {
	url        string
	operations []any
	bytes      int
}

func (w *etcdWriter) put(s stored) error {
	value, err := runtime.Encode(objects, s.object)
	if err != nil {
		return err
	}
	if len(w.operations) == maxOperations || w.bytes+len(value) > maxBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.bytes += len(value)
	pair := map[string][]byte{"key": []byte("/registry/" + s.key), "value": value}
	w.operations = append(w.operations, map[string]any{"requestPut": pair})
	return nil
}

func (w *etcdWriter) flush() error {
	if len(w.operations) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"success": w.operations})
	if err != nil {
		return err
	}
	w.operations, w.bytes = nil, 0
	response, err := http.Post(w.url+"/v3/kv/txn", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("etcd: %s %s", response.Status, text)
	}
	return err
}
