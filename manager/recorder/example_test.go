package recorder_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/recorder"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

// A manager does all this; a reconciler only calls Eventf.
func ExampleWriter() {
	run := func(ctx context.Context, config *rest.Config) error {
		httpClient, err := rest.HTTPClientFor(config)
		if err != nil {
			return err
		}
		writer, err := recorder.New(config, httpClient, scheme.Scheme, recorder.Options{})
		if err != nil {
			return err
		}
		rec := writer.GetEventRecorder("website-controller")
		rec.Eventf(&corev1.Pod{}, nil, "Normal", "Started", "Start", "with %d replicas", 3)
		return writer.Run(ctx)
	}
	_ = run
}

// A test gives its reconciler a fake recorder, and reads what was recorded.
func Example_fake() {
	fake := events.NewFakeRecorder(10)
	var rec recorder.EventRecorder = fake
	rec.Eventf(&corev1.Pod{}, nil, "Warning", "Failed", "Create", "no room for %q", "web")
	fmt.Println(<-fake.Events)
	// Output: Warning Failed no room for "web"
}
