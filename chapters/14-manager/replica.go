package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
)

const (
	tasks   = 8
	stopsAt = 3 // the task at which the first replica is told to stop
)

var taskLabel = map[string]string{"story": "task"}

// replica is one process of the program, though all are in this one.
type replica struct {
	ctrl.Manager
	name string
	told chan struct{} // closed when the parts that need the lead are told to end

	mu       sync.Mutex // guards what follows
	begun    int
	finished []string
}

// newReplica makes a manager with a leader election and a controller.
func (s *stage) newReplica(name string) (*replica, error) {
	options := s.options()
	options.LeaderElection, options.LeaderElectionReleaseOnCancel = true, true
	options.LeaderElectionID, options.LeaderElectionNamespace = "tasks", s.Namespace
	options.RetryPeriod = new(500 * time.Millisecond)
	m, err := ctrl.NewManager(s.Config(), options)
	if err != nil {
		return nil, err
	}
	r := &replica{Manager: m, name: name, told: make(chan struct{})}
	err = m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		close(r.told)
		return nil
	}))
	if err != nil {
		return nil, err
	}
	isTask := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()["story"] == "task" })
	return r, ctrl.NewControllerManagedBy(m).Named("tasks").
		For(&corev1.ConfigMap{}, builder.WithPredicates(isTask)).
		WithOptions(controller.Options{EnableWarmup: new(true), GracePeriod: 10 * time.Second}).
		Complete(reconcile.AsReconciler(m.GetClient(), r))
}

// Reconcile does a task, if it is not done yet.
func (r *replica) Reconcile(ctx context.Context, task *corev1.ConfigMap) (reconcile.Result, error) {
	if task.Data["doneBy"] != "" {
		return reconcile.Result{}, nil
	}
	r.mu.Lock()
	r.begun++
	last := r.begun == stopsAt && r.name == "first"
	r.mu.Unlock()
	if last { // this one is under way when the replica is told to stop
		<-r.told
	}
	time.Sleep(300 * time.Millisecond)
	task.Data = map[string]string{"doneBy": r.name}
	if err := r.GetClient().Update(ctx, task); err != nil {
		return reconcile.Result{}, err
	}
	r.mu.Lock()
	r.finished = append(r.finished, task.Name)
	r.mu.Unlock()
	return reconcile.Result{}, nil
}

func (r *replica) done() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finished
}

func (r *replica) leads(ctx context.Context) error {
	select {
	case <-r.Elected():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the lead of the %s replica: %w", r.name, context.Cause(ctx))
	}
}

// isAt waits until the replica has begun with so many tasks.
func (r *replica) isAt(ctx context.Context, task int) error {
	for {
		r.mu.Lock()
		begun := r.begun
		r.mu.Unlock()
		if begun >= task {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// allDone waits until all tasks are done.
func (s *stage) allDone(ctx context.Context) error {
	for {
		list, err := s.Client.CoreV1().ConfigMaps(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(taskLabel).String()})
		if err != nil {
			return err
		}
		open := tasks
		for _, task := range list.Items {
			if task.Data["doneBy"] != "" {
				open--
			}
		}
		if open == 0 {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d tasks are not done: %w", open, context.Cause(ctx))
		}
	}
}

// counts are the tasks that each replica has done.
type counts struct{ first, second []string }

func (c counts) rows() [][]string {
	return [][]string{
		{"tasks", fmt.Sprint(tasks)},
		{"done by the first replica", fmt.Sprint(len(c.first))},
		{"done by the second replica", fmt.Sprint(len(c.second))},
		{"done twice", fmt.Sprint(c.twice())},
	}
}

// twice is how many tasks both replicas did, or one of them did again.
func (c counts) twice() int {
	both := slices.Sorted(slices.Values(slices.Concat(c.first, c.second)))
	return len(both) - len(slices.Compact(slices.Clone(both)))
}
