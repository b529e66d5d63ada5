package alone

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

type makes = func(*mini.Manager) ([]*mini.Controller, error)

func one(make func(*mini.Manager) (*mini.Controller, error)) makes {
	return func(m *mini.Manager) ([]*mini.Controller, error) {
		c, err := make(m)
		return []*mini.Controller{c}, err
	}
}

// rivals are mini's controllers, by the names of Kubernetes' own.
var rivals = map[string]makes{
	"replicaset-controller":  one(mini.NewReplicaSetController),
	"deployment-controller":  one(mini.NewDeploymentController),
	"endpoints-controller":   one(mini.NewEndpointsController),
	"daemonset-controller":   one(mini.NewDaemonSetController),
	"statefulset-controller": one(mini.NewStatefulSetController),
	"job-controller":         mini.NewJobController,
	"garbage-collector-controller": func(m *mini.Manager) ([]*mini.Controller, error) {
		return mini.NewGarbageCollector(m, &corev1.ConfigMap{}, &appsv1.ReplicaSet{})
	},
}

// besides runs a test beside the controllers that rival makes, or beside none.
func besides(t *testing.T, rival makes, test func(t *testing.T, server *fakeapi.Server)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		if rival != nil {
			config := server.Config()
			config.UserAgent = "rival"
			connection, err := mini.NewCluster(config, scheme.Scheme)
			require.NoError(t, err)
			m := mini.NewManager(connection)
			made, err := rival(m)
			require.NoError(t, err)
			for _, c := range made {
				m.AddController(c)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1) // from the manager, once
			go func() { ended <- m.Run(ctx) }()
			defer func() { stop(); require.NoError(t, <-ended) }()
			time.Sleep(time.Second)
		}
		test(t, server)
	})
}

// A reader who has left `make mini` running would see 28 Pods where the chapter promises 25.
func TestEachOfMinisControllersThatCanAnswerIsFound(t *testing.T) {
	require.Len(t, rivals, len(probes))
	for _, probe := range probes {
		name := probe.Original
		t.Run(name, func(t *testing.T) {
			besides(t, rivals[name], func(t *testing.T, server *fakeapi.Server) {
				require.ErrorContains(t, Check(t.Context(), server.Config(), controllers.ProbeOptions{}, name), name)
			})
			besides(t, nil, func(t *testing.T, server *fakeapi.Server) {
				require.NoError(t, Check(t.Context(), server.Config(), controllers.ProbeOptions{}, name))
			})
		})
	}
}

// A rival on a busy machine took 929 ms to answer.
func TestARivalThatTakesTwoSecondsIsFound(t *testing.T) {
	besides(t, rivals["replicaset-controller"], func(t *testing.T, server *fakeapi.Server) {
		server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: "rival", Verb: "update"}, Delay: 2 * time.Second})
		story := Story(func(context.Context, *demo.Demo) error { return nil }, "replicaset-controller")
		d := &demo.Demo{Cluster: cluster.Of("in memory", server.Config()), Namespace: "default"}
		require.ErrorContains(t, story(t.Context(), d), "replicaset-controller")
	})
}

// A chapter that began all the same would print wrong numbers, and one that never began is no chapter.
func TestAStoryBeginsIfNoOtherControllerDoesItsWork(t *testing.T) {
	for name, rival := range map[string]makes{"alone": nil, "besides": rivals["replicaset-controller"]} {
		t.Run(name, func(t *testing.T) {
			besides(t, rival, func(t *testing.T, server *fakeapi.Server) {
				began := false
				err := demo.On(t.Context(), io.Discard, cluster.Of("in memory", server.Config()),
					Story(func(context.Context, *demo.Demo) error { began = true; return nil },
						"replicaset-controller", "cronjob-controller"))
				require.Equal(t, rival == nil, began)
				if rival == nil {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, "this program's controllers must be alone: ")
				}
			})
		})
	}
}
