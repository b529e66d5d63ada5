package speed

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Row is a workload.
type Row struct {
	Name, Text string
	prepare    func(place) error // with the controllers running
	restart    bool              // start the controllers again in between
	play       func(place) error // what is measured
}

// Rows are the workloads of the benchmark; a scale of 0.1 makes them a tenth as large.
func Rows(scale float64) []Row {
	n := func(size int) int { return max(int(float64(size)*scale), 1) }
	nothing := func(place) error { return nil }
	return []Row{
		{Name: "replicaset", Text: fmt.Sprintf("a ReplicaSet from 0 to %d Pods", n(1000)), prepare: nothing,
			play: func(at place) error { return at.growSet(n(1000)) }},
		{Name: "rollout", Text: fmt.Sprintf("a rollout of a Deployment of %d", n(200)),
			prepare: func(at place) error { return at.deploy(1, n(200), "works:1") },
			play:    func(at place) error { return at.roll(n(200)) }},
		{Name: "deployments", Text: fmt.Sprintf("%d Deployments of 3 at once", n(200)), prepare: nothing,
			play: func(at place) error { return at.deploy(n(200), 3, "works:1") }},
		{Name: "service", Text: fmt.Sprintf("a Service with %d Pods that become ready", n(1000)),
			prepare: func(at place) error { return at.pendingPods(n(1000)) },
			play:    func(at place) error { return at.getReady(n(1000)) }},
		{Name: "restart", Text: fmt.Sprintf("a restart with %d Pods", 50*n(100)),
			prepare: func(at place) error { return at.deploy(50, n(100), "works:1") }, restart: true,
			play: func(at place) error { return at.answer("after") }},
	}
}

// place is the namespace of a measurement.
type place struct {
	ctx       context.Context
	user      kubernetes.Interface
	namespace string
}

// until watches nothing and asks: the same on both sides, and seldom enough not to matter.
func (p place) until(what string, done func() (string, bool, error)) error {
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(25 * time.Millisecond) {
		have, ok, err := done()
		switch {
		case err != nil || ok:
			return err
		case p.ctx.Err() != nil:
			return context.Cause(p.ctx)
		case time.Now().After(deadline):
			return fmt.Errorf("waiting for %s: %s", what, have)
		}
	}
}

// inParallel does something for each number, twenty at a time.
func inParallel(n int, do func(int) error) error {
	numbers, failed := make(chan int), make([]error, n)
	var workers sync.WaitGroup
	for range 20 {
		workers.Go(func() {
			for i := range numbers {
				failed[i] = do(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	if i := slices.IndexFunc(failed, func(err error) bool { return err != nil }); i >= 0 {
		return failed[i]
	}
	return nil
}

func template(app, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}, AutomountServiceAccountToken: new(false)},
	}
}

func (p place) growSet(n int) error {
	sets := p.user.AppsV1().ReplicaSets(p.namespace)
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(n)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template("web", "works:1"),
	}}
	if _, err := sets.Create(p.ctx, rs, metav1.CreateOptions{}); err != nil {
		return err
	}
	return p.until("the ReplicaSet", func() (string, bool, error) {
		rs, err := sets.Get(p.ctx, "web", metav1.GetOptions{})
		if err != nil {
			return "", false, err
		}
		return fmt.Sprint(rs.Status), int(rs.Status.ReadyReplicas) == n && int(rs.Status.Replicas) == n, nil
	})
}

// deploy makes count Deployments of a size, and waits until all are available.
func (p place) deploy(count, size int, image string) error {
	deployments := p.user.AppsV1().Deployments(p.namespace)
	err := inParallel(count, func(i int) error {
		name := fmt.Sprintf("web-%d", i)
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(size)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: template(name, image),
		}}
		_, err := deployments.Create(p.ctx, d, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return p.untilRolled(count, size)
}

func (p place) untilRolled(count, size int) error {
	return p.until("the Deployments", func() (string, bool, error) {
		all, err := p.user.AppsV1().Deployments(p.namespace).List(p.ctx, metav1.ListOptions{})
		if err != nil {
			return "", false, err
		}
		done := 0
		for i := range all.Items {
			s := all.Items[i].Status
			if s.ObservedGeneration == all.Items[i].Generation && int(s.UpdatedReplicas) == size && int(s.AvailableReplicas) == size && int(s.Replicas) == size {
				done++
			}
		}
		return fmt.Sprintf("%d of %d", done, count), done == count, nil
	})
}

func (p place) roll(size int) error {
	patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"works:2"}]}}}}`)
	if _, err := p.user.AppsV1().Deployments(p.namespace).Patch(p.ctx, "web-0", types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	return p.untilRolled(1, size)
}

// pendingPods makes Pods that this program plays: their node has no kubelet.
func (p place) pendingPods(n int) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	if _, err := p.user.CoreV1().Services(p.namespace).Create(p.ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	return inParallel(n, func(i int) error {
		t := template("web", "works:1")
		pod := &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
		pod.Name, pod.Spec.NodeName = fmt.Sprintf("p%04d", i), "played"
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		_, err := p.user.CoreV1().Pods(p.namespace).Create(p.ctx, pod, metav1.CreateOptions{})
		return err
	})
}

func (p place) getReady(n int) error {
	err := inParallel(n, func(i int) error {
		address := fmt.Sprintf("10.200.%d.%d", i/250, i%250+1)
		status := fmt.Appendf(nil, `{"status":{"phase":"Running","podIP":%q,"podIPs":[{"ip":%q}],"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}]}}`,
			address, address, time.Now().UTC().Format(time.RFC3339))
		_, err := p.user.CoreV1().Pods(p.namespace).Patch(p.ctx, fmt.Sprintf("p%04d", i), types.MergePatchType, status, metav1.PatchOptions{}, "status")
		return err
	})
	if err != nil {
		return err
	}
	return p.until("the Endpoints", func() (string, bool, error) {
		e, err := p.user.CoreV1().Endpoints(p.namespace).Get(p.ctx, "web", metav1.GetOptions{})
		if err != nil {
			return "", false, err
		}
		have := 0
		for _, subset := range e.Subsets {
			have += len(subset.Addresses)
		}
		return fmt.Sprint(have), have == n, nil
	})
}

// answer makes a Deployment of none and a Service, and waits until the controllers have seen to them.
func (p place) answer(name string) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: template(name, "works:1"),
	}}
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": name}, ClusterIP: corev1.ClusterIPNone}}
	if _, err := p.user.AppsV1().Deployments(p.namespace).Create(p.ctx, d, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := p.user.CoreV1().Services(p.namespace).Create(p.ctx, s, metav1.CreateOptions{}); err != nil {
		return err
	}
	err := p.until("an answer of the controllers", func() (string, bool, error) {
		sets, err := p.user.AppsV1().ReplicaSets(p.namespace).List(p.ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil || len(sets.Items) == 0 || sets.Items[0].Status.ObservedGeneration == 0 {
			return "no ReplicaSet that was seen to", false, err
		}
		_, err = p.user.CoreV1().Endpoints(p.namespace).Get(p.ctx, name, metav1.GetOptions{})
		return "no Endpoints", err == nil, nil
	})
	if err != nil {
		return err
	}
	return p.user.AppsV1().Deployments(p.namespace).Delete(p.ctx, name, metav1.DeleteOptions{})
}

// empty removes the namespace with all that is in it, and waits for its end.
func (p place) empty() error {
	now := int64(0)
	if err := p.user.CoreV1().Pods(p.namespace).DeleteCollection(p.ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{FieldSelector: "spec.nodeName=played"}); err != nil {
		return err
	}
	if err := p.user.CoreV1().Namespaces().Delete(p.ctx, p.namespace, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return p.until("the end of the namespace", func() (string, bool, error) {
		_, err := p.user.CoreV1().Namespaces().Get(p.ctx, p.namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "", true, nil
		}
		return "it is there", false, err
	})
}
