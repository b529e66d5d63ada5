package scenarios

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

func services(s *stage.Stage) calls[*corev1.Service] { return s.Client.CoreV1().Services(s.Namespace) }

func endpoints(s *stage.Stage) calls[*corev1.Endpoints] {
	return s.Client.CoreV1().Endpoints(s.Namespace)
}

// service selects the Pods with the label app=web, on port 80.
func service(more ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: app, Labels: maps.Clone(web)},
		Spec:       corev1.ServiceSpec{Selector: maps.Clone(web), Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}
	for _, change := range more {
		change(s)
	}
	return s
}

func serve(more ...func(*corev1.Service)) Step {
	return create("create the Service", service(more...), services)
}

func editService(text string, how func(*corev1.Service)) Step {
	return edit(text, app, services, how)
}

// ports are name, port and target; the target is a number or a name.
func ports(all ...[3]string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.Ports = nil
		for _, one := range all {
			number := intstr.Parse(one[1])
			port := corev1.ServicePort{Name: one[0], Port: int32(number.IntValue()), TargetPort: intstr.Parse(one[2])}
			if one[0] == "dns" {
				port.Protocol = corev1.ProtocolUDP
			}
			s.Spec.Ports = append(s.Spec.Ports, port)
		}
	}
}

func headless(s *corev1.Service)   { s.Spec.ClusterIP = corev1.ClusterIPNone }
func noPorts(s *corev1.Service)    { s.Spec.Ports = nil }
func noSelector(s *corev1.Service) { s.Spec.Selector = nil }
func selects(labels map[string]string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Selector = maps.Clone(labels) }
}
func publishes(is bool) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = is }
}

func external(s *corev1.Service) {
	s.Spec.Type, s.Spec.ExternalName, s.Spec.ClusterIP, s.Spec.ClusterIPs = corev1.ServiceTypeExternalName, "example.com", "", nil
}

func internal(s *corev1.Service) { s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeClusterIP, "" }

// listens gives the Pod's container a port with a name.
func listens(name string, port int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		protocol := corev1.ProtocolTCP
		if name == "dns" {
			protocol = corev1.ProtocolUDP
		}
		c := &p.Spec.Containers[0]
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: name, ContainerPort: port, Protocol: protocol})
	}
}

func hostname(name, subdomain string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = name, subdomain }
}

func onHost(p *corev1.Pod) { p.Spec.HostNetwork = true }

func never(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }

func deleteService() Step { return remove("Service", app, background, services) }

// somePods makes Pods with names and one label.
func somePods(count int, more ...func(*corev1.Pod)) Step {
	return Step{Text: fmt.Sprintf("create %d Pods", count), Do: func(ctx context.Context, s *stage.Stage) error {
		for i := range count {
			if _, err := pods(s).Create(ctx, pod(fmt.Sprintf("p%04d", i), web, more...), metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		return nil
	}}
}
