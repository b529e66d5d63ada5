// Package letters is what both programs of the chapter do: a Job sends three letters, and a user
// deletes its Pods as soon as they have ended.
package letters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// Controllers makes the controllers of one process.
type Controllers func(m *mini.Manager) ([]*mini.Controller, error)

// Main runs the story on a cluster whose own Job controller is switched off.
func Main(title string, controllers Controllers, questions ...demo.Question) {
	_ = os.Setenv("ORIGINALS", "-job-controller")
	demo.Main(title, alone.Story(Story(controllers), "job-controller"), questions...)
}

// Story sends three letters, and says how many were sent.
func Story(controllers Controllers) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		user, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		d.Show(func(e trace.Event) bool { return e.Kind == trace.Write })
		s := &story{Demo: d, client: &mini.Client{Cluster: user}, controllers: controllers}
		return errors.Join(s.play(ctx), s.letGo(ctx))
	}
}

type story struct {
	*demo.Demo
	client      *mini.Client
	controllers Controllers
	sent        int // letters
}

func (s *story) play(ctx context.Context) error {
	stop, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stop() }()
	if err := s.Step("1. A Job for three letters. Each of its Pods sends one", func() error {
		if err := s.client.Create(ctx, s.job()); err != nil {
			return err
		}
		return s.report(ctx)
	}); err != nil {
		return err
	}
	if err := s.Step("2. The first letter is sent, and a user deletes the Pod", func() error {
		if err := s.send(ctx, 2*time.Second); err != nil {
			return err
		}
		return s.report(ctx)
	}); err != nil {
		return err
	}
	if err := s.Step("3. The same, while no controller runs", func() error {
		if err := stop(); err != nil {
			return err
		}
		if err := s.send(ctx, 0); err != nil {
			return err
		}
		if err := s.report(ctx); err != nil {
			return err
		}
		s.Say("The controller starts again.")
		var err error
		if stop, err = s.start(ctx); err != nil {
			return err
		}
		return s.report(ctx)
	}); err != nil {
		return err
	}
	return s.Step("4. The other Pods are left alone", func() error {
		for ctx.Err() == nil {
			running, err := s.running(ctx)
			if err != nil {
				return err
			}
			if running == nil {
				break
			}
			if err := s.end(ctx, running); err != nil {
				return err
			}
			demo.Sleep(ctx, 2*time.Second)
		}
		return s.report(ctx)
	})
}

// start runs the controllers as a process does, which remembers nothing of an earlier one.
func (s *story) start(ctx context.Context) (stop func() error, err error) {
	cluster, err := mini.NewCluster(s.Config(), scheme.Scheme)
	if err != nil {
		return nil, err
	}
	cluster.Trace = s.Recorder
	m := mini.NewManager(cluster)
	all, err := s.controllers(m)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		m.AddController(c)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx); close(ended) }()
	return func() error { cancel(); return <-ended }, nil
}

// job returns a Job whose Pods fit on no node: the story plays the kubelet.
func (s *story) job() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "letters"},
		Spec: batchv1.JobSpec{
			Completions: new(int32(3)), Parallelism: new(int32(1)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers:    []corev1.Container{{Name: "c", Image: s.Image}},
				RestartPolicy: corev1.RestartPolicyNever,
				NodeSelector:  map[string]string{"example.com/node": "none"},
			}},
		},
	}
}

// running returns the Pod that runs, or nil.
func (s *story) running(ctx context.Context) (*corev1.Pod, error) {
	pods, err := mini.List[*corev1.Pod](ctx, s.client, mini.Selection{Namespace: s.Namespace})
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
			return pod, nil
		}
	}
	return nil, err
}

// end is what a Pod does, and what its kubelet reports.
func (s *story) end(ctx context.Context, pod *corev1.Pod) error {
	s.sent++
	pod.Status.Phase = corev1.PodSucceeded
	return s.client.UpdateStatus(ctx, pod)
}

// send makes a Pod send a letter, and deletes the Pod after a pause.
func (s *story) send(ctx context.Context, pause time.Duration) error {
	pod, err := s.running(ctx)
	if err != nil || pod == nil {
		return errors.Join(err, errors.New("no Pod runs"))
	}
	if err := s.end(ctx, pod); err != nil {
		return err
	}
	demo.Sleep(ctx, pause)
	return s.client.Delete(ctx, pod, metav1.DeleteOptions{})
}

// report says what the Job's status is, when whatever happens has happened.
func (s *story) report(ctx context.Context) error {
	demo.Sleep(ctx, 2*time.Second)
	job, err := mini.Get[*batchv1.Job](ctx, s.client, mini.Request{Namespace: s.Namespace, Name: "letters"})
	if err != nil {
		return err
	}
	pods, err := mini.List[*corev1.Pod](ctx, s.client, mini.Selection{Namespace: s.Namespace})
	if err != nil {
		return err
	}
	phases := []string{}
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodPending} {
		for _, pod := range pods {
			switch {
			case pod.Status.Phase == phase && pod.DeletionTimestamp != nil:
				phases = append(phases, string(phase)+" (ending)")
			case pod.Status.Phase == phase:
				phases = append(phases, string(phase))
			}
		}
	}
	text := fmt.Sprintf("Letters: %d. Status: %d succeeded", s.sent, job.Status.Succeeded)
	for _, c := range job.Status.Conditions {
		text += ", " + string(c.Type)
	}
	if len(phases) == 0 {
		phases = []string{"none"}
	}
	s.Say("%s. Pods: %s.", text, strings.Join(phases, ", "))
	return nil
}

// letGo removes the finalizers that are left if the story was interrupted: nothing else does, and the
// namespace would stay for good.
func (s *story) letGo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	pods, err := mini.List[*corev1.Pod](ctx, s.client, mini.Selection{Namespace: s.Namespace})
	for _, pod := range pods {
		if len(pod.Finalizers) > 0 {
			patch := []byte(`{"metadata":{"finalizers":null}}`)
			err = errors.Join(err, mini.IgnoreNotFound(s.client.Patch(ctx, pod, types.MergePatchType, patch)))
		}
	}
	return err
}
