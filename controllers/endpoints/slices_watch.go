package endpoints

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/log"
)

// The fields by which this controller finds objects. Each controller has its own, because a field may be added once.
const (
	sliceSelectorIndex = "endpointslices:selects" // of Services
	sliceIndex         = "endpointslices:service" // of slices: the Service whose they are
	nodeIndex          = "endpointslices:node"    // of Pods
)

func addSliceIndexes(to client.FieldIndexer) error {
	for _, index := range []struct {
		of     client.Object
		field  string
		values client.IndexerFunc
	}{
		{&corev1.Service{}, sliceSelectorIndex, selectorIndexValues},
		{&discoveryv1.EndpointSlice{}, sliceIndex, func(object client.Object) []string {
			if service := object.GetLabels()[discoveryv1.LabelServiceName]; isSliceOf(object, service) {
				return []string{service}
			}
			return nil
		}},
		{&corev1.Pod{}, nodeIndex, func(object client.Object) []string { return []string{object.(*corev1.Pod).Spec.NodeName} }},
	} {
		if err := to.IndexField(context.Background(), index.of, index.field, index.values); err != nil {
			return fmt.Errorf("the EndpointSlice controller: %w", err)
		}
	}
	return nil
}

// isSliceOf reports whether a slice is one of those that the controller manages for a Service.
func isSliceOf(slice client.Object, service string) bool {
	labels := slice.GetLabels()
	return service != "" && labels[discoveryv1.LabelServiceName] == service && labels[discoveryv1.LabelManagedBy] == sliceManager
}

// sliceEvents wakes the Services whose slices somebody else has touched.
type sliceEvents struct{ written *memory }

func (s sliceEvents) handler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, c event.CreateEvent, q queue) {
			if !s.isOwnWrite(c.Object) {
				wakeServiceOf(q, c.Object)
			}
		},
		UpdateFunc: func(_ context.Context, u event.UpdateEvent, q queue) {
			if !s.isOwnWrite(u.ObjectNew) {
				wakeServiceOf(q, u.ObjectOld) // which may be another one than that of the next
				wakeServiceOf(q, u.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, d event.DeleteEvent, q queue) {
			s.written.forget(client.ObjectKeyFromObject(d.Object))
			wakeServiceOf(q, d.Object)
		},
	}
}

// isOwnWrite reports whether the controller has just written this: then there is nothing to look at.
func (s sliceEvents) isOwnWrite(slice client.Object) bool {
	return s.written.isOwnWrite(client.ObjectKeyFromObject(slice), slice.GetResourceVersion())
}

func wakeServiceOf(q queue, slice client.Object) {
	if service := slice.GetLabels()[discoveryv1.LabelServiceName]; isSliceOf(slice, service) {
		request := requestFor(slice)
		request.Name = service
		q.Add(request)
	}
}

// nodeEvents wakes the Services of a Node's Pods, if the Node comes or goes, or if its zone changes. A cloud may write the
// zone some time after the Node has come. Nodes of the first list wake nobody, because each Service has an event of its
// own then.
type nodeEvents struct {
	cache client.Reader
	pods  podEvents
}

func (n nodeEvents) handler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, c event.CreateEvent, q queue) {
			if !c.IsInInitialList {
				n.wakeServicesOn(ctx, q, c.Object)
			}
		},
		UpdateFunc: func(ctx context.Context, u event.UpdateEvent, q queue) {
			if u.ObjectOld.GetLabels()[corev1.LabelTopologyZone] != u.ObjectNew.GetLabels()[corev1.LabelTopologyZone] {
				n.wakeServicesOn(ctx, q, u.ObjectNew)
			}
		},
		DeleteFunc: func(ctx context.Context, d event.DeleteEvent, q queue) {
			n.wakeServicesOn(ctx, q, d.Object)
		},
	}
}

func (n nodeEvents) wakeServicesOn(ctx context.Context, q queue, node client.Object) {
	var list corev1.PodList
	if err := n.cache.List(ctx, &list, client.MatchingFields{nodeIndex: node.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Looking for the Pods of a Node", "node", node.GetName())
		return
	}
	for i := range list.Items {
		if pod := &list.Items[i]; hasIP(pod) {
			n.pods.wake(q, n.pods.selecting(ctx, pod))
		}
	}
}
