// Package traffic is what both programs of the chapter do: a Service gets Pods of several kinds, and the
// program shows where its Endpoints send the traffic.
package traffic

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

//lint:file-ignore SA1019 Endpoints are deprecated, and the subject of the chapter.

// Controller makes the controller that the program is about.
type Controller func(d *demo.Demo, m *mini.Manager) (*mini.Controller, error)

// Story runs the controller while users change Pods, and says after each step what the Endpoints say.
func Story(controller Controller) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) (err error) {
		d.Show(func(trace.Event) bool { return false })
		stop, err := begin(ctx, d, controller)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		u := &users{Demo: d}
		err = errors.Join(
			d.Step("1. The Service web has the Pods a, b and c; c isn't ready", func() error {
				return errors.Join(u.createService(ctx),
					u.createPod(ctx, "a", 8080, corev1.ConditionTrue), u.createPod(ctx, "b", 8080, corev1.ConditionTrue),
					u.createPod(ctx, "c", 8080, corev1.ConditionFalse), u.tell(ctx))
			}),
			d.Step("2. A user annotates the Pods, 30 times", func() error { return u.annotate(ctx) }),
			d.Step("3. The Pod d is of the next version: its port http is 9090", func() error {
				return errors.Join(u.createPod(ctx, "d", 9090, corev1.ConditionTrue), u.tell(ctx))
			}),
			d.Step("4. A user removes the label of the Pod a", func() error {
				return errors.Join(u.change(ctx, "a", func(pod *corev1.Pod) { pod.Labels = nil }), u.tell(ctx))
			}),
			d.Step("5. A user deletes the Endpoints", func() error {
				err := d.Client.CoreV1().Endpoints(d.Namespace).Delete(ctx, "web", metav1.DeleteOptions{})
				return errors.Join(err, u.tell(ctx))
			}),
		)
		if err == nil {
			d.Linger("endpoints")
		}
		return err
	}
}

// begin starts a manager with the controller. stop ends it, and waits.
func begin(ctx context.Context, d *demo.Demo, controller Controller) (stop func() error, err error) {
	rest.SetDefaultWarningHandler(rest.NoWarnings{}) // each request would say that Endpoints are deprecated
	cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
	if err != nil {
		return nil, err
	}
	cluster.Trace = d.Recorder
	m := mini.NewManager(cluster)
	c, err := controller(d, m)
	if err != nil {
		return nil, err
	}
	m.AddController(c)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1) // there may be no one to wait for it
	go func() { ended <- m.Run(ctx) }()
	return func() error { cancel(); return <-ended }, nil
}

// users are the people who work with the Service, and the kubelet of its Pods.
type users struct{ *demo.Demo }

func (u *users) createService(ctx context.Context) error {
	_, err := u.Client.CoreV1().Services(u.Namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{
				Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http"),
			}},
		},
	}, metav1.CreateOptions{})
	return err
}

const mayServe = "loopwright.dev/may-serve"

// createPod creates a Pod with a port named http, which is ready if the user says so.
func (u *users) createPod(ctx context.Context, name string, port int32, ready corev1.ConditionStatus) error {
	nodes, err := u.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	node := "node" // an API server without nodes has no kubelet either
	if len(nodes.Items) > 0 {
		node = nodes.Items[0].Name
	}
	_, err = u.Client.CoreV1().Pods(u.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			NodeName:       node,
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: mayServe}},
			Containers: []corev1.Container{{
				Name: "c", Image: u.Image,
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return u.retry(ctx, name, func(pod *corev1.Pod) error {
		if pod.Status.PodIP == "" { // else a kubelet was faster
			pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.1.0."+strconv.Itoa(int(name[0]))
		}
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: mayServe, Status: ready}, {Type: corev1.PodReady, Status: ready},
		}
		_, err := u.Client.CoreV1().Pods(u.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	})
}

func (u *users) change(ctx context.Context, name string, change func(*corev1.Pod)) error {
	return u.retry(ctx, name, func(pod *corev1.Pod) error {
		change(pod)
		_, err := u.Client.CoreV1().Pods(u.Namespace).Update(ctx, pod, metav1.UpdateOptions{})
		return err
	})
}

// retry writes the Pod again if the kubelet was faster.
func (u *users) retry(ctx context.Context, name string, write func(*corev1.Pod) error) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod, err := u.Client.CoreV1().Pods(u.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return write(pod)
	})
}

// annotate changes what concerns no Service, and counts the writes of the controller.
func (u *users) annotate(ctx context.Context) error {
	before := u.writes()
	for i := range 30 {
		err := u.change(ctx, string("abc"[i%3]), func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{"note": strconv.Itoa(i)}
		})
		if err != nil {
			return err
		}
		demo.Sleep(ctx, 100*time.Millisecond) // so that each is a reconcile of its own
	}
	u.settle(ctx)
	u.Say("Writes of Endpoints: %d.", u.writes()-before)
	return nil
}

func (u *users) writes() (n int) {
	for _, e := range u.Recorder.Events() {
		if e.Kind == trace.Write && e.Object == "Endpoints" {
			n++
		}
	}
	return n
}

// settle waits until whatever happens has happened.
func (u *users) settle(ctx context.Context) { demo.Sleep(ctx, 2*time.Second) }

// tell says what the Endpoints say, by the names of the Pods.
func (u *users) tell(ctx context.Context) error {
	u.settle(ctx)
	pods, err := u.Client.CoreV1().Pods(u.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	endpoints, err := u.Client.CoreV1().Endpoints(u.Namespace).Get(ctx, "web", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		u.Say("The Service has no Endpoints.")
		return nil
	}
	for _, subset := range endpoints.Subsets {
		line := "Traffic goes to " + names(subset.Addresses, pods.Items)
		for _, port := range subset.Ports {
			line += ", port " + strconv.Itoa(int(port.Port))
		}
		if len(subset.NotReadyAddresses) > 0 {
			line += "; not ready: " + names(subset.NotReadyAddresses, pods.Items)
		}
		u.Say("%s", line)
	}
	return err
}

func names(addresses []corev1.EndpointAddress, pods []corev1.Pod) string {
	var all []string
	for _, address := range addresses {
		for _, pod := range pods {
			if pod.Status.PodIP == address.IP {
				all = append(all, pod.Name)
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// WriteIfChanged makes this the only subset of the Endpoints, and writes only if there is another one.
func WriteIfChanged(ctx context.Context, client *mini.CachedClient, req mini.Request, subset corev1.EndpointSubset) error {
	current, err := mini.Get[*corev1.Endpoints](ctx, client, req)
	next := current.DeepCopy()
	next.Namespace, next.Name = req.Namespace, req.Name
	for i := range subset.Ports {
		subset.Ports[i].Protocol = corev1.ProtocolTCP // the API server's default
	}
	next.Subsets = []corev1.EndpointSubset{subset}
	switch {
	case apierrors.IsNotFound(err):
		return client.Create(ctx, next)
	case err != nil || equality.Semantic.DeepEqual(current, next):
		return err
	}
	return client.Update(ctx, next)
}
