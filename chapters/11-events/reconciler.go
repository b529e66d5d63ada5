package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
)

// reconciler gives each stall a seller, who knows the price. A stall is a ConfigMap with the label
// story=stall; a seller is a Pod that the ConfigMap owns. The ConfigMap "prices" has the prices of
// all stalls, and a Discount takes something off for one of them.
type reconciler struct {
	market   *informers
	client   kubernetes.Interface
	recorder *trace.Recorder
	image    string
}

// region reconcile

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	stall, found := r.market.configMaps.Store().Get(request.NamespacedName)
	if !found || !isStall(stall) {
		return reconcile.Result{}, r.removeSeller(ctx, request)
	}
	return reconcile.Result{}, r.writeSeller(ctx, stall, r.price(stall))
}

// price is that of the list, less the discounts of this stall.
func (r *reconciler) price(stall *corev1.ConfigMap) string {
	price := 0
	if prices, found := r.market.configMaps.Store().Get(types.NamespacedName{Namespace: stall.Namespace, Name: "prices"}); found {
		price, _ = strconv.Atoi(prices.Data[stall.Name]) // 0 as long as nobody has put it on the list
	}
	for discount := range r.market.discounts().Store().All() {
		if stallOf(discount) == stall.Name {
			off, _, _ := unstructured.NestedInt64(discount.Object, "spec", "off")
			price -= int(off)
		}
	}
	return strconv.Itoa(price)
}

// endregion reconcile

func isStall(object metav1.Object) bool { return object.GetLabels()["story"] == "stall" }

// stallOf is the stall that a Discount is for.
func stallOf(discount *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(discount.Object, "spec", "stall")
	return name
}

func sellerOf(stall string) string { return stall + "-seller" }

// noNode keeps sellers off the nodes. kwok, which plays the nodes, deletes a Pod by its name only. So
// if a user deletes a seller, it might delete the next one of that name as well.
var noNode = []corev1.PodSchedulingGate{{Name: "loopwright.dev/no-node"}}

// writeSeller may be repeated: it says what should be there, and not what is to be changed.
func (r *reconciler) writeSeller(ctx context.Context, stall *corev1.ConfigMap, price string) error {
	seller := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: sellerOf(stall.Name), Annotations: map[string]string{"price": price},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: stall.Name, UID: stall.UID}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "seller", Image: r.image}}, SchedulingGates: noNode},
	}
	patch := []byte(`{"metadata":{"annotations":{"price":` + strconv.Quote(price) + `}}}`)
	known, found := r.market.pods.Store().Get(types.NamespacedName{Namespace: stall.Namespace, Name: seller.Name})
	began, op := time.Now(), "patch"
	pods := r.client.CoreV1().Pods(stall.Namespace)
	written, err := pods.Patch(ctx, seller.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		op = "create"
		written, err = pods.Create(ctx, seller, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing the Pod %s: %w", seller.Name, err)
	}
	if !found || known.ResourceVersion != written.ResourceVersion { // a patch that changes nothing is not worth a line
		r.wrote(op, written, time.Since(began))
	}
	return nil
}

func (r *reconciler) removeSeller(ctx context.Context, stall reconcile.Request) error {
	began, seller := time.Now(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: stall.Namespace, Name: sellerOf(stall.Name)}}
	err := r.client.CoreV1().Pods(stall.Namespace).Delete(ctx, seller.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting the Pod %s: %w", seller.Name, err)
	}
	r.wrote("delete", seller, time.Since(began))
	return nil
}

func (r *reconciler) wrote(op string, pod *corev1.Pod, took time.Duration) {
	r.recorder.Record(trace.Event{
		Kind: trace.Write, Layer: controllerName, Op: op, Object: "Pod", Namespace: pod.Namespace, Name: pod.Name,
		Version: pod.ResourceVersion, Took: took,
	})
}
