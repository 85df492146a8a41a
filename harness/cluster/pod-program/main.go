// Command pod is the only program of the Pods in the cluster tests: the sandbox of every Pod, a server whose readiness
// can be switched, and a client that counts who answers. It is static, so that its image is this one file.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: pod pause | serve PORT | dial URL COUNT | load URL MILLISECONDS")
	}
	switch args := os.Args[2:]; os.Args[1] {
	case "pause":
		pause()
	case "serve":
		serve(args[0])
	case "dial":
		print(dial(args[0], number(args[1])))
	case "load":
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
		load := startLoad(args[0], time.Duration(number(args[1]))*time.Millisecond)
		<-stop
		print(load.stop())
	default:
		fail("unknown command " + os.Args[1])
	}
}

// pause waits for SIGTERM and reaps the children that it inherits, as the first process of a pid namespace must.
func pause() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		fail(err.Error())
	}
	return value
}

func print(value any) {
	_ = json.NewEncoder(os.Stdout).Encode(value)
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(2)
}
