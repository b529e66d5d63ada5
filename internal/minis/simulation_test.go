package minis

import (
	"context"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/simulation/stories"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// These tests are the exam at the end of the course: `make simulate MINE=1` plays them with your files.

func TestReplicaSet(t *testing.T) {
	promised(stories.ReplicaSet(process(mini.NewReplicaSetController))).Test(t)
}

func TestDeployment(t *testing.T) {
	promised(stories.Deployment(
		process(mini.NewReplicaSetController, mini.NewDeploymentController))).Test(t)
}

// promised leaves out the one thing that mini's ReplicaSets don't promise: if the answer to a creation is
// lost, there may be a Pod too many, until the cache shows it.
func promised(story simulation.Story) simulation.Story {
	story.Seeds, story.Least = 15, nil
	story.Bends = func(m simulation.Mishap) []simulation.Promise {
		if m.LosesAnswers() {
			return []simulation.Promise{simulation.NeverMore}
		}
		return nil
	}
	return story
}

// process makes processes of mini with some controllers.
func process(all ...func(*mini.Manager) (*mini.Controller, error)) simulation.Process {
	return func(
		connection *rest.Config, recorder *trace.Recorder,
	) (run func(context.Context) error, err error) {
		cluster, err := mini.NewCluster(connection, scheme.Scheme)
		if err != nil {
			return nil, err
		}
		cluster.Trace = recorder
		m := mini.NewManager(cluster)
		for _, newController := range all {
			c, err := newController(m)
			if err != nil {
				return nil, err
			}
			m.AddController(c)
		}
		return m.Run, nil
	}
}
