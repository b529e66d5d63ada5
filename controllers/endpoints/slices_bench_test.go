package endpoints

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// What a reconcile computes that finds nothing to do; and how many bytes it writes, and the API
// server sends to each node, if one of the Pods is no longer ready: as Endpoints, and as slices.
func BenchmarkALookAtSlicesThatFindsNothingToDo(b *testing.B) {
	for _, n := range []int{3, 100, 1000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			board := newBoard()
			var pods []*corev1.Pod
			for i := range n {
				pods = append(pods, runningPod(i))
			}
			board.carryOut(mostPerSlice, pods...)
			b.ReportAllocs()
			for b.Loop() {
				if p := planOf(
					wantedOf(board.service, pods, someNodes), board.have, mostPerSlice,
				); len(p.create)+len(p.update)+len(p.remove) > 0 {
					b.Fatal("it is there already")
				}
			}
			notReady(pods[n-1])
			p := planOf(wantedOf(board.service, pods, someNodes), board.have, mostPerSlice)
			whole := &corev1.Endpoints{}
			contentOf(board.service, pods).writeTo(whole, noon)
			b.ReportMetric(size(b, p.update...), "bytes/slice")
			b.ReportMetric(size(b, whole), "bytes/endpoints")
		})
	}
}

func size[T *discoveryv1.EndpointSlice | *corev1.Endpoints](
	b *testing.B, objects ...T,
) (bytes float64) {
	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			b.Fatal(err)
		}
		bytes += float64(len(text))
	}
	return bytes
}
