// Command demo shows mini's controllers at work: a Deployment is created, scaled, rolled out and
// rolled back, while its Pods and the Endpoints of its Service are counted. `make demo` runs it.
package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Mini's controllers: a Deployment", story) }

// replicas is how many Pods the Deployment asks for at first.
const replicas = 4

func story(ctx context.Context, d *demo.Demo) error {
	stop, err := start(ctx, d)
	if err != nil {
		return err
	}
	web := d.Client.AppsV1().Deployments(d.Namespace)
	patch := func(text string) error {
		_, err := web.Patch(ctx, "web", types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	image := func(name string) string {
		return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":%q}]}}}}`, name)
	}
	err = errors.Join(
		d.Step("1. kubectl create deployment web --replicas=4; kubectl expose deployment web", func() error {
			_, err1 := web.Create(ctx, deployment(d), metav1.CreateOptions{})
			_, err2 := d.Client.CoreV1().Services(d.Namespace).Create(ctx, service(), metav1.CreateOptions{})
			return errors.Join(err1, err2, follow(ctx, d, func(p picture) bool {
				return p.available == replicas && p.addresses == replicas
			}))
		}),
		d.Step("2. kubectl scale deployment web --replicas=6", func() error {
			return errors.Join(patch(`{"spec":{"replicas":6}}`), follow(ctx, d, func(p picture) bool {
				return p.available == 6 && p.addresses == 6
			}))
		}),
		d.Step("3. kubectl set image deployment web web=registry.invalid/web:2, an image that does not exist", func() error {
			return errors.Join(patch(image("registry.invalid/web:2")), follow(ctx, d, func(p picture) bool {
				return p.updated == 3 && p.available == 5
			}))
		}),
		d.Step("4. kubectl rollout undo deployment web", func() error {
			return errors.Join(patch(image(d.Image)), follow(ctx, d, func(p picture) bool {
				return p.updated == 6 && p.available == 6 && p.pods == 6
			}))
		}))
	return errors.Join(err, stop())
}

// start runs the controllers. stop ends them, and returns why they have ended if they were not
// told to.
func start(ctx context.Context, d *demo.Demo) (stop func() error, err error) {
	config := rest.CopyConfig(d.Config())
	config.WarningHandler = rest.NoWarnings{} // each write of Endpoints would print one
	cluster, err := mini.NewCluster(config, scheme.Scheme)
	if err != nil {
		return nil, err
	}
	m := mini.NewManager(cluster)
	sets, err1 := mini.NewReplicaSetController(m)
	deployments, err2 := mini.NewDeploymentController(m)
	endpoints, err3 := mini.NewEndpointsController(m)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	for _, c := range []*mini.Controller{sets, deployments, endpoints} {
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

// follow prints each picture that is new, until one is as wanted.
func follow(ctx context.Context, d *demo.Demo, wanted func(picture) bool) error {
	sets, err := d.Client.AppsV1().Deployments(d.Namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer sets.Stop()
	endpoints, err := d.Client.CoreV1().Endpoints(d.Namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer endpoints.Stop()
	var now, last picture
	for observed := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event := <-sets.ResultChan():
			web, ok := event.Object.(*appsv1.Deployment)
			if !ok {
				return fmt.Errorf("the watch of Deployments has ended: %v", event.Object)
			}
			observed = web.Status.ObservedGeneration == web.Generation
			now.pods, now.updated = int(web.Status.Replicas), int(web.Status.UpdatedReplicas)
			now.available = int(web.Status.AvailableReplicas)
		case event := <-endpoints.ResultChan():
			object, ok := event.Object.(*corev1.Endpoints)
			if !ok {
				return fmt.Errorf("the watch of Endpoints has ended: %v", event.Object)
			}
			now.addresses = 0
			for _, subset := range object.Subsets {
				now.addresses += len(subset.Addresses)
			}
		}
		if now != last && observed {
			d.Say("%v", now)
			last = now
		}
		if observed && wanted(now) {
			return nil
		}
	}
}

func deployment(d *demo.Demo) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels},
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
