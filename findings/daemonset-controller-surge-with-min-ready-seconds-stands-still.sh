#!/bin/bash
# k8s.io/kubernetes v1.37.2, pkg/controller/daemon (the DaemonSet controller) run as a library on an API in memory.
# Expected: with maxSurge and minReadySeconds, the old Pod of a node is deleted once the new one beside it has been ready for
#   minReadySeconds. That is true of each node, so the roll-out ends without anybody's help.
# Seen: when two new Pods become ready a few seconds apart, the old Pod of the second node stays, and nothing looks again: no
#   event, no error, and the status counts all Pods as available. The delayed queue of the controller keeps one time for a
#   DaemonSet, the earliest (workqueue, delaying_queue.go), so the second wait is dropped. The look at the end of the first one
#   finds the second Pod not yet available and asks for no other: the resync in the status counts the oldest Pod of each node,
#   which is the old one. Any change of any Pod of the DaemonSet lets it go on.
# Who meets it: node agents that are updated with maxSurge (network, storage, proxies), at the last nodes of a roll-out, when no
#   other Pod changes any more. Old and new run side by side until somebody looks. Without minReadySeconds it does not happen.
#   OpenKruise mended a hang of this kind in its own DaemonSet (kruise 1014).
# The first build takes some minutes.
# Output, 2026-11-30:
#   maxSurge 2, minReadySeconds 6, the new Pods ready at 0 s and 3 s
#   after  5 s                 n1: old new   n2: old new
#   after  8 s                 n1: new       n2: old new
#   after 30 s                 n1: new       n2: old new
#   a label of a Pod changes   n1: new       n2: new
#   still so
set -u; d=$(mktemp -d); trap 'rm -rf "$d"' EXIT; cd "$d"
cat > main.go <<'G'
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/testing"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/daemon"
)

const minReady = 6

var (
	ctx    = context.Background()
	client = fake.NewClientset(node("n1"), node("n2"))
	labels = map[string]string{"app": "agent"}
)

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func node(name string) *v1.Node {
	ready := v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionTrue}
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Conditions: []v1.NodeCondition{ready}}}
}

func agent() *apps.DaemonSet {
	surge, none, revisions := intstr.FromInt32(2), intstr.FromInt32(0), int32(10)
	return &apps.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "default", UID: "u", Generation: 1},
		Spec: apps.DaemonSetSpec{
			Selector:             &metav1.LabelSelector{MatchLabels: labels},
			MinReadySeconds:      minReady,
			RevisionHistoryLimit: &revisions,
			UpdateStrategy: apps.DaemonSetUpdateStrategy{Type: apps.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &apps.RollingUpdateDaemonSet{MaxSurge: &surge, MaxUnavailable: &none}},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: v1.PodSpec{Containers: []v1.Container{{Name: "agent", Image: "old"}}}},
		},
	}
}

func nodeOf(pod *v1.Pod) string {
	return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
}

func pods() []v1.Pod {
	list, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	must(err)
	return list.Items
}

// What a scheduler and a kubelet do.
func becomesReady(image, on string) {
	for _, pod := range pods() {
		if pod.Spec.Containers[0].Image != image || nodeOf(&pod) != on {
			continue
		}
		pod.Spec.NodeName = on
		pod.Status = v1.PodStatus{Phase: v1.PodRunning,
			Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.Now()}}}
		_, err := client.CoreV1().Pods("default").Update(ctx, &pod, metav1.UpdateOptions{})
		must(err)
		return
	}
	must(fmt.Errorf("no Pod %s on %s", image, on))
}

func seen(what string) string {
	by := map[string][]string{}
	for _, pod := range pods() {
		by[nodeOf(&pod)] = append(by[nodeOf(&pod)], pod.Spec.Containers[0].Image)
	}
	words := []string{}
	for _, name := range []string{"n1", "n2"} {
		slices.SortFunc(by[name], func(a, b string) int { return strings.Compare(b, a) })
		words = append(words, fmt.Sprintf("%s: %-8s", name, strings.Join(by[name], " ")))
	}
	found := strings.TrimSpace(strings.Join(words, "  "))
	fmt.Printf("%-26s %s\n", what, found)
	return found
}

func main() {
	writes := 0
	// What an API server does.
	client.PrependReactor("*", "pods", func(action testing.Action) (bool, runtime.Object, error) {
		writes++
		if write, ok := action.(interface{ GetObject() runtime.Object }); ok {
			pod := write.GetObject().(*v1.Pod)
			if action.GetVerb() == "create" {
				pod.Name = fmt.Sprintf("%s%d", pod.GenerateName, writes)
				pod.UID, pod.CreationTimestamp = types.UID(pod.Name), metav1.Now()
			}
			pod.ResourceVersion = fmt.Sprint(writes)
		}
		return false, nil, nil
	})
	set := agent()
	factory := informers.NewSharedInformerFactory(client, 0)
	c, err := daemon.NewDaemonSetsController(ctx, factory.Apps().V1().DaemonSets(), factory.Apps().V1().ControllerRevisions(),
		factory.Core().V1().Pods(), factory.Core().V1().Nodes(), client, flowcontrol.NewBackOff(time.Second, time.Minute))
	must(err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go c.Run(ctx, 1)
	_, err = client.AppsV1().DaemonSets("default").Create(ctx, set, metav1.CreateOptions{})
	must(err)
	time.Sleep(2 * time.Second)
	becomesReady("old", "n1")
	becomesReady("old", "n2")
	time.Sleep((minReady + 3) * time.Second)
	set, err = client.AppsV1().DaemonSets("default").Get(ctx, "agent", metav1.GetOptions{})
	must(err)
	set.Spec.Template.Spec.Containers[0].Image, set.Generation = "new", 2
	_, err = client.AppsV1().DaemonSets("default").Update(ctx, set, metav1.UpdateOptions{})
	must(err)
	time.Sleep(2 * time.Second)
	fmt.Printf("maxSurge 2, minReadySeconds %d, the new Pods ready at 0 s and 3 s\n", minReady)
	becomesReady("new", "n1")
	time.Sleep(3 * time.Second)
	becomesReady("new", "n2")
	time.Sleep(2 * time.Second)
	both := seen("after  5 s")
	time.Sleep(3 * time.Second)
	one := seen("after  8 s")
	time.Sleep(22 * time.Second)
	late := seen("after 30 s")
	pod := pods()[0]
	pod.Labels["looked"] = "at"
	_, err = client.CoreV1().Pods("default").Update(ctx, &pod, metav1.UpdateOptions{})
	must(err)
	time.Sleep(2 * time.Second)
	after := seen("a label of a Pod changes")
	if strings.Count(both, "old") != 2 || strings.Count(one, "old") != 1 || late != one || strings.Contains(after, "old") {
		os.Exit(1)
	}
}
G
# Kubernetes requires its staging modules as v0.0.0, from its own tree.
{ go mod init example.com/surge && go mod edit -require k8s.io/kubernetes@v1.37.2 && go mod download k8s.io/kubernetes@v1.37.2 &&
  staging=$(sed -n 's|^\t\(k8s.io/[a-z-]*\) => ./staging/.*|\1|p' "$(go env GOMODCACHE)/cache/download/k8s.io/kubernetes/@v/v1.37.2.mod") &&
  for m in $staging; do echo "-replace=$m=$m@v0.37.2"; done | xargs go mod edit && CGO_ENABLED=0 go build -mod=mod -o t .; } >log 2>&1 || { tail -3 log; echo "install fails"; exit 1; }
timeout 90 ./t 2>/dev/null; rc=$?; [ $rc = 0 ] && echo "still so" || echo "changed (exit $rc)"; [ $rc = 0 ]
