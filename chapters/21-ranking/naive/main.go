// Command naive scales a ReplicaSet down with chapter 12's controller.
package main

import (
	"github.com/loopwright/loopwright/chapters/21-ranking/scaledown"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 21, naive: the first Pods in the list",
		alone.Story(scaledown.Story(reconciler), "replicaset-controller"),
		demo.Predict(2, "which Pods are left?", "the last two lines"))
}

// reconciler returns chapter 12's: it keeps the first Pods of the list.
func reconciler(client *mini.CachedClient) mini.Reconciler {
	return &mini.FirstReplicaSet{Client: client}
}
