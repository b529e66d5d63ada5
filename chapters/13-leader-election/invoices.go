package main

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/trace"
)

// An invoice is a ConfigMap with this label. Each payment is an entry of its data, with the name of who
// has paid.
const invoiceLabel = "story=invoice"

// bookkeeper pays each invoice that it has not paid, and that nobody else had paid when it looked.
type bookkeeper struct {
	name, namespace string
	client          kubernetes.Interface
	recorder        *trace.Recorder
}

// pay is the work. It ends when its context does, but not in the middle of a payment.
func (b *bookkeeper) pay(ctx context.Context) {
	_, elected := leaderelection.FenceFrom(ctx)
	mine := map[string]bool{}
	for ctx.Err() == nil {
		list, err := b.client.CoreV1().ConfigMaps(b.namespace).List(ctx, metav1.ListOptions{LabelSelector: invoiceLabel})
		if err == nil {
			for _, invoice := range list.Items {
				if ctx.Err() == nil && !mine[invoice.Name] && (len(invoice.Data) == 0 || !elected) {
					mine[invoice.Name] = true
					b.payOne(ctx, invoice.Name)
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// payOne takes a second, in ten steps: a process that is suspended does not jump to the end.
func (b *bookkeeper) payOne(ctx context.Context, invoice string) {
	b.record(trace.Event{Kind: trace.Note, Name: invoice, Reason: beginsToPay})
	for range 10 {
		time.Sleep(100 * time.Millisecond)
	}
	err := b.write(ctx, invoice)
	event := trace.Event{Kind: trace.Write, Name: invoice, Op: "payment"}
	var fenced *leaderelection.FencedError
	switch {
	case errors.As(err, &fenced):
		event.Outcome, event.Reason = trace.Failed, fenced.Error()
	case err != nil:
		event.Outcome, event.Reason = trace.Failed, err.Error()
	}
	b.record(event)
}

// region write
// write books the payment. What has begun is finished, so the context's end is ignored.
func (b *bookkeeper) write(ctx context.Context, name string) error {
	fence, elected := leaderelection.FenceFrom(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	invoices := b.client.CoreV1().ConfigMaps(b.namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		invoice, err := invoices.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if elected {
			if err := fence.Stamp(invoice); err != nil {
				return err // somebody who leads now has written
			}
		}
		book(invoice, b.name)
		_, err = invoices.Update(ctx, invoice, metav1.UpdateOptions{})
		return err
	})
}

// endregion write

func book(invoice *corev1.ConfigMap, by string) {
	if invoice.Data == nil {
		invoice.Data = map[string]string{}
	}
	invoice.Data[by] = "paid"
}

func (b *bookkeeper) record(e trace.Event) {
	e.Layer, e.Object, e.Namespace = b.name, "ConfigMap", b.namespace
	b.recorder.Record(e)
}
