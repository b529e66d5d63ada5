// Command 25-scaling scales a Deployment whose rollout hangs, with proportional scaling.
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
	demo.Main("Chapter 25: scaling in mid-rollout",
		alone.Story(rollouts.Story(deployments), "replicaset-controller", "deployment-controller"),
		demo.Predict(4,
			"in step 4, does the controller create a third ReplicaSet? Which revision "+
				"is the good image afterwards?",
			"the two lines above"))
}

// deployments returns the controller with ScaleOrRoll as its Reconciler.
func deployments(m *mini.Manager) (*mini.Controller, error) {
	reconciler := &mini.Deployments{Client: m.Client}
	c := m.NewController("deployment", 1, mini.ReconcilerFunc(reconciler.ScaleOrRoll))
	c.Watch(m.Informer(&appsv1.Deployment{}), mini.EnqueueObject)
	ofDeployments := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	c.Watch(m.Informer(&appsv1.ReplicaSet{}), mini.EnqueueOwner(ofDeployments))
	return c, m.Err()
}
