package main

import (
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/manager/client"
)

func newEndpoints(namespace string) *corev1.Endpoints {
	return &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
}

func (s *stage) service() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "web"}}
}

func (s *stage) createService(ctx context.Context) error {
	service := s.service()
	service.Spec.Selector = map[string]string{"app": "web"}
	service.Spec.Ports = []corev1.ServicePort{
		{Name: "http", Port: 80, TargetPort: intstr.FromString("http")},
		{Name: "metrics", Port: 9090, TargetPort: intstr.FromString("metrics")},
	}
	return s.users.Create(ctx, service)
}

// newPod is a Pod with the ports http and, if there is another number, metrics.
func (s *stage) newPod(name string, numbers ...int32) *corev1.Pod {
	container := corev1.Container{Name: "web", Image: s.Image}
	for i, number := range numbers {
		container.Ports = append(container.Ports, corev1.ContainerPort{Name: []string{"http", "metrics"}[i], ContainerPort: number})
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container}, TerminationGracePeriodSeconds: new(int64(1))},
	}
}

func (s *stage) createPod(ctx context.Context, name string, numbers ...int32) error {
	return s.users.Create(ctx, s.newPod(name, numbers...))
}

// inService is a condition of the Pod red. It is ready only if somebody says that it may serve.
const inService = "loopwright.dev/in-service"

// createGatedPod makes a Pod that is ready as long as the user wants it to be.
func (s *stage) createGatedPod(ctx context.Context, name string, numbers ...int32) error {
	pod := s.newPod(name, numbers...)
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: inService}}
	if err := s.users.Create(ctx, pod); err != nil {
		return err
	}
	return s.setConditions(ctx, name, "True", inService)
}

func (s *stage) pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
}

func (s *stage) annotate(ctx context.Context, pod string) error {
	patch := `{"metadata":{"annotations":{"note":"yes"},"labels":{"note":"yes"}}}`
	return s.users.Patch(ctx, s.pod(pod), client.RawPatch(types.MergePatchType, []byte(patch)))
}

// setReady says whether the Pod may serve. A kubelet decides from that whether it is ready; fake nodes do not.
func (s *stage) setReady(ctx context.Context, name string, ready bool) error {
	status := map[bool]string{true: "True", false: "False"}[ready]
	return s.setConditions(ctx, name, status, inService, string(corev1.PodReady))
}

func (s *stage) setConditions(ctx context.Context, name, status string, kinds ...string) error {
	var conditions []map[string]string
	for _, t := range kinds {
		conditions = append(conditions, map[string]string{"type": t, "status": status})
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions}})
	if err != nil {
		return err
	}
	return s.users.Status().Patch(ctx, s.pod(name), client.RawPatch(types.StrategicMergePatchType, patch))
}

// deletePod deletes a Pod, and waits for its end.
func (s *stage) deletePod(ctx context.Context, name string) error {
	if err := s.users.Delete(ctx, s.pod(name)); err != nil {
		return err
	}
	return s.gone(ctx, s.pod(name))
}

func (s *stage) gone(ctx context.Context, object client.Object) error {
	return s.until(ctx, "the end of "+object.GetName(), func(ctx context.Context) error {
		err := s.users.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is still there"))
	})
}

// split writes what the Endpoints say in another form, and waits until the controller knows it.
func (s *stage) split(ctx context.Context) error {
	if _, err := s.read(ctx); err != nil {
		return err
	}
	whole := s.endpoints.Subsets[0]
	s.endpoints.Subsets = nil
	for _, port := range whole.Ports {
		part := *whole.DeepCopy()
		part.Ports = []corev1.EndpointPort{port}
		s.endpoints.Subsets = append(s.endpoints.Subsets, part)
	}
	return errors.Join(s.users.Update(ctx, s.endpoints), s.known(ctx, s.endpoints))
}

func (s *stage) misdirect(ctx context.Context) error {
	if _, err := s.read(ctx); err != nil {
		return err
	}
	s.endpoints.Subsets[0].Addresses[0] = corev1.EndpointAddress{IP: "192.0.2.1"}
	return s.users.Update(ctx, s.endpoints)
}

func (s *stage) setSelector(ctx context.Context, selector map[string]string) error {
	service := s.service()
	if err := s.users.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
		return err
	}
	service.Spec.Selector = selector
	return s.users.Update(ctx, service)
}

func (s *stage) deleteService(ctx context.Context) error {
	if err := s.users.Delete(ctx, s.service()); err != nil {
		return err
	}
	return s.gone(ctx, newEndpoints(s.Namespace))
}
