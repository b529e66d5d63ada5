// Command naive scales a Deployment whose rollout hangs, with the rolling update alone.
package main

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/chapters/25-scaling/rollouts"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 25, naive: a rollout that ignores scaling",
		alone.Story(rollouts.Story(deployments), "replicaset-controller", "deployment-controller"),
		demo.Predict(3,
			"how many Pods does each ReplicaSet have after the third step, and how many "+
				"serve?",
			"the two lines above"))
}

// deployments returns the controller with Roll as its Reconciler.
func deployments(m *mini.Manager) (*mini.Controller, error) {
	reconciler := &mini.Deployments{Client: m.Client}
	c := m.NewController("deployment", 1, mini.ReconcilerFunc(reconciler.Roll))
	c.Watch(m.Informer(&appsv1.Deployment{}), mini.EnqueueObject)
	ofDeployments := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	c.Watch(m.Informer(&appsv1.ReplicaSet{}), mini.EnqueueOwner(ofDeployments))
	return c, m.Err()
}
