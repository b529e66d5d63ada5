package endpoints

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// What one reconcile computes: the content, the times, and whether there is anything to write.
func BenchmarkALookThatFindsNothingToDo(b *testing.B) {
	for _, n := range []int{3, 100, 1000} {
		for _, ports := range []int{1, 3} {
			b.Run(fmt.Sprintf("pods=%d/ports=%d", n, ports), func(b *testing.B) {
				service := webService()
				for i := 1; i < ports; i++ {
					service.Spec.Ports = append(service.Spec.Ports,
						corev1.ServicePort{Name: fmt.Sprint("p", i), Protocol: corev1.ProtocolTCP,
							TargetPort: intstr.FromInt32(int32(i))})
				}
				var pods []*corev1.Pod
				for i := range n {
					pods = append(pods, runningPod(i))
				}
				current := &corev1.Endpoints{}
				contentOf(service, pods).writeTo(current, noon)
				b.ReportAllocs()
				for b.Loop() {
					if want := contentOf(service, pods); !want.isIn(current) ||
						timesOf(service, pods) == nil {
						b.Fatal("it is there already")
					}
				}
			})
		}
	}
}
