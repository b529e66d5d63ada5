// Command demo shows mini's controllers at work: a Deployment is created, scaled, rolled out and
// rolled back, while its Pods and the Endpoints of its Service are counted. `make demo` runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/mini/cmd/internal/held"
)

func main() {
	demo.Main("Mini's controllers: a Deployment", alone.Story(story, cluster.SampleControllers...))
}

func story(ctx context.Context, d *demo.Demo) error {
	if d.Steps == nil {
		if err := d.ShowXRay(ctx); err != nil {
			return err
		}
	}
	client, err := kubernetes.NewForConfig(quiet(d.Cluster.RESTConfig()))
	if err != nil {
		return err
	}
	v, err := newView(ctx, d, client)
	if err != nil {
		return err
	}
	defer v.stop()
	stop, err := start(ctx, d)
	if err != nil {
		return err
	}
	web := client.AppsV1().Deployments(d.Namespace)
	patch := func(text string) error {
		_, err := web.Patch(ctx, "web", types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	image := func(name string) string {
		return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":%q}]}}}}`, name)
	}
	steps := []struct {
		title string
		do    func() error
		end   picture
	}{
		{"1. kubectl create deployment web --replicas=4; kubectl expose deployment web", func() error {
			d.Say("The Deployment's controller reports the first three numbers, that of Endpoints the last.")
			if _, err := web.Create(ctx, deployment(d), metav1.CreateOptions{}); err != nil {
				return err
			}
			_, err := client.CoreV1().Services(d.Namespace).Create(ctx, service(), metav1.CreateOptions{})
			return err
		}, picture{4, 4, 4, 4}},
		{"2. kubectl scale deployment web --replicas=6", func() error {
			return patch(`{"spec":{"replicas":6}}`)
		}, picture{6, 6, 6, 6}},
		{"3. kubectl set image deployment web web=registry.invalid/web:2, which does not exist", func() error {
			return patch(image("registry.invalid/web:2"))
		}, picture{8, 3, 5, 5}},
		{"4. kubectl rollout undo deployment web", func() error {
			return patch(image(d.Image))
		}, picture{6, 6, 6, 6}},
	}
	for _, s := range steps {
		err := d.Step(s.title, func() error {
			if err := s.do(); err != nil {
				return err
			}
			return v.until(ctx, s.end)
		})
		if err != nil {
			return errors.Join(err, stop())
		}
	}
	time.Sleep(time.Second) // the last reconcile may be under way
	return stop()
}

// quiet leaves out warnings: each request about Endpoints would print one.
func quiet(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{}
	return config
}

// start runs the controllers. stop ends them, and returns why they have ended if they were not
// told to.
func start(ctx context.Context, d *demo.Demo) (stop func() error, err error) {
	cluster, err := mini.NewCluster(quiet(d.Config()), scheme.Scheme)
	if err != nil {
		return nil, err
	}
	cluster.Trace = d.Hidden()
	m := mini.NewManager(cluster)
	for _, newController := range []func(*mini.Manager) (*mini.Controller, error){
		mini.NewReplicaSetController, mini.NewDeploymentController, mini.NewEndpointsController,
	} {
		c, err := newController(m)
		if err != nil {
			return nil, err
		}
		c.Reconciler = held.Reconciler(d.Steps, c.Reconciler)
		m.AddController(c)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1) // from the manager, once
	go func() { ended <- m.Run(ctx) }()
	return func() error { cancel(); return <-ended }, nil
}

// picture is what the user sees of the Deployment.
type picture struct{ pods, updated, available, addresses int }

func (p picture) String() string {
	return fmt.Sprintf("%d Pods: %d of the newest template, %d available; the Service leads to %d",
		p.pods, p.updated, p.available, p.addresses)
}

// view watches what the picture is made of.
type view struct {
	d                      *demo.Demo
	deployments, endpoints watch.Interface

	now, last picture
	observed  bool // the status is about the newest spec
}

func newView(ctx context.Context, d *demo.Demo, client kubernetes.Interface) (*view, error) {
	deployments, err := client.AppsV1().Deployments(d.Namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	endpoints, err := client.CoreV1().Endpoints(d.Namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		deployments.Stop()
		return nil, err
	}
	return &view{d: d, deployments: deployments, endpoints: endpoints}, nil
}

func (v *view) stop() {
	v.deployments.Stop()
	v.endpoints.Stop()
}

// until prints each picture that is new, until it is the wanted one.
func (v *view) until(ctx context.Context, want picture) error {
	for {
		var event watch.Event
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event = <-v.deployments.ResultChan():
		case event = <-v.endpoints.ResultChan():
		}
		switch object := event.Object.(type) {
		case *appsv1.Deployment:
			status := object.Status
			v.observed = status.ObservedGeneration == object.Generation
			v.now.pods, v.now.updated = int(status.Replicas), int(status.UpdatedReplicas)
			v.now.available = int(status.AvailableReplicas)
		case *corev1.Endpoints:
			v.now.addresses = 0
			for _, subset := range object.Subsets {
				v.now.addresses += len(subset.Addresses)
			}
		default:
			return fmt.Errorf("a watch has ended: %v", event.Object)
		}
		if v.observed && v.now != v.last {
			v.d.Say("%v", v.now)
			v.last = v.now
		}
		if v.observed && v.now == want {
			return nil
		}
	}
}

func deployment(d *demo.Demo) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(4)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: d.Image}}},
			},
		},
	}
}

func service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}},
		},
	}
}
