package main

import (
	"crypto/sha256"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// suffixLetters are those of the names that Kubernetes makes up.
const suffixLetters = "bcdfghjklmnpqrstvwxz2456789"

// uid looks as if it were chosen at random, as real ones are, and is the same in each run. A list of UIDs
// that count up would be compressed to less than half of a real one.
func uid(kind string, number int) types.UID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", kind, number))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// suffix is made up in the same way, of so many letters.
func suffix(kind string, number, length int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", kind, number))
	letters := make([]byte, length)
	for i := range letters {
		letters[i] = suffixLetters[int(sum[i])%len(suffixLetters)]
	}
	return string(letters)
}

// podName is that of a Pod of a ReplicaSet of a Deployment; ReplicaSets and Pods are numbered.
func podName(deployment string, replicaSet, pod int) string {
	return deployment + "-" + suffix("replicaset", replicaSet, 10) + "-" + suffix("pod", pod, 5)
}
