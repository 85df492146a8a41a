// Command informer runs stock client-go informers and shows, on request, what they hold.
//
// It is told its informers by --config, a JSON array of variant. For each it writes the line
// {"synced":true,"name":…} when the informer has synced. For each line "dump" on stdin it writes
// one line {"dump":[…]} with a report for each informer, in the order of the configuration. It
// ends with its stdin.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"

	"k8s.io/client-go/tools/cache"
)

func main() {
	config := flag.String("config", "[]", "JSON array of informers to run")
	flag.Parse()
	if err := run(*config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(config string) error {
	var variants []variant
	if err := json.Unmarshal([]byte(config), &variants); err != nil {
		return err
	}
	out := &lines{encoder: json.NewEncoder(os.Stdout)}
	var watched []*watcher
	for _, v := range variants {
		w, err := newWatcher(v)
		if err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
		watched = append(watched, w)
	}
	for _, w := range watched {
		go w.informer.RunWithContext(context.Background())
		go func() {
			cache.WaitForCacheSync(context.Background().Done(), w.handler.HasSynced)
			out.write(map[string]any{"synced": true, "name": w.variant.Name})
		}()
	}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		if commands.Text() == "dump" {
			reports := []report{}
			for _, w := range watched {
				reports = append(reports, w.report())
			}
			out.write(map[string]any{"dump": reports})
		}
	}
	return commands.Err()
}

// lines writes JSON lines from several goroutines.
type lines struct {
	mutex   sync.Mutex
	encoder *json.Encoder
}

func (l *lines) write(line any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err := l.encoder.Encode(line); err != nil {
		os.Exit(1)
	}
}
