// Package nights is what both programs of the chapter do: CronJobs start a backup each night, after ten
// nights without a controller, and with a process that dies at the wrong moment.
package nights

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// NewController makes the controller of one process.
type NewController func(m *mini.Manager) (*mini.Controller, error)

// Main runs the story on a cluster whose own CronJob controller is switched off.
func Main(title string, controller NewController, questions ...demo.Question) {
	_ = os.Setenv("ORIGINALS", "-cronjob-controller")
	demo.Main(title, Story(controller), questions...)
}

// Story makes CronJobs, and says how many Jobs there are.
func Story(controller NewController) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		user, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		s := &story{Demo: d, client: &mini.Client{Cluster: user}}
		config := d.Config()
		config.Wrap(s.lossy)
		cluster, err := mini.NewCluster(config, scheme.Scheme)
		if err != nil {
			return err
		}
		cluster.Trace = d.Recorder
		d.Show(func(e trace.Event) bool { return e.Kind == trace.Write && e.Outcome != trace.Failed })
		m := mini.NewManager(cluster)
		c, err := controller(m)
		if err != nil {
			return err
		}
		m.AddController(c)
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error)
		go func() { ended <- m.Run(ctx) }()
		err = s.play(ctx)
		stop()
		return errors.Join(err, <-ended)
	}
}

type story struct {
	*demo.Demo
	client *mini.Client
	lose   atomic.Bool // the next status does not reach the API server
}

func (s *story) play(ctx context.Context) error {
	if err := s.Step("1. A backup each night. For ten nights, no controller was running", func() error {
		if err := s.cronJob(ctx, "backup", 10); err != nil {
			return err
		}
		return s.report(ctx, "backup")
	}); err != nil {
		return err
	}
	return s.Step("2. One night. The controller creates the Job, but its write of the status gets lost", func() error {
		s.lose.Store(true)
		if err := s.cronJob(ctx, "report", 1); err != nil {
			return err
		}
		return s.report(ctx, "report")
	})
}

// lossy is a connection that can lose the status of a CronJob, as the end of the process would.
func (s *story) lossy(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/cronjobs/report/status") && s.lose.CompareAndSwap(true, false) {
			return nil, errors.New("the connection is broken")
		}
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// cronJob makes a CronJob whose last start was some nights ago. It is suspended until its status says
// so. Its Jobs are suspended, too: the story is about their starts.
func (s *story) cronJob(ctx context.Context, name string, nights int) error {
	cj := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec: batchv1.CronJobSpec{
			Schedule: "0 0 * * *", Suspend: new(true),
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
				Suspend: new(true),
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					Containers:    []corev1.Container{{Name: "c", Image: s.Image}},
					RestartPolicy: corev1.RestartPolicyNever,
				}},
			}},
		},
	}
	if err := s.client.Create(ctx, cj); err != nil {
		return err
	}
	cj.Status.LastScheduleTime = &metav1.Time{Time: time.Now().Add(-time.Duration(nights) * 24 * time.Hour)}
	if err := s.client.UpdateStatus(ctx, cj); err != nil {
		return err
	}
	cj.Spec.Suspend = new(false)
	return s.client.Update(ctx, cj)
}

// report counts the Jobs, when whatever happens has happened.
func (s *story) report(ctx context.Context, name string) error {
	demo.Sleep(ctx, 2*time.Second)
	jobs, err := mini.List[*batchv1.Job](ctx, s.client, mini.Selection{Namespace: s.Namespace})
	if err != nil {
		return err
	}
	all, starts := 0, map[string]bool{}
	for _, job := range jobs {
		if owner := metav1.GetControllerOf(job); owner != nil && owner.Name == name {
			all++
			starts[job.Annotations[batchv1.CronJobScheduledTimestampAnnotation]] = true
		}
	}
	cj, err := mini.Get[*batchv1.CronJob](ctx, s.client, mini.Request{Namespace: s.Namespace, Name: name})
	if err != nil {
		return err
	}
	s.Say("Jobs: %d, from starts: %d. Active in the status: %d.", all, len(starts), len(cj.Status.Active))
	return nil
}
