// Package calls has the calls by which clients are compared, as a program writes them for
// controller-runtime. Package ourcalls is the same text with our import paths, which the tests write.
package calls

import (
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/loopwright/loopwright/benchmarks/client/wire"
)

// side makes the table of one client.
type side struct {
	c client.WithWatch
	// forbidden is a client that may do nothing.
	forbidden client.WithWatch
	open      func(client.Options) client.WithWatch // makes another client on the same connection

	group string
	calls []wire.Call
}

// Make returns all calls. The HTTP client records; nobody is a user who may do nothing.
func Make(config *rest.Config, http, nobody *http.Client) (calls []wire.Call, err error) {
	mapper, err := apiutil.NewDynamicRESTMapper(config, http)
	if err != nil {
		return nil, err
	}
	s := &side{}
	s.open = func(options client.Options) client.WithWatch {
		options.Scheme, options.Mapper = wire.Scheme, mapper
		if options.HTTPClient == nil {
			options.HTTPClient = http
		}
		made, err := client.NewWithWatch(config, options)
		if err != nil {
			panic(err) // it makes no request
		}
		return made
	}
	s.forbidden = s.open(client.Options{HTTPClient: nobody})
	for _, table := range []struct {
		group string
		add   func()
	}{
		{"Get", s.gets}, {"List", s.lists}, {"Create", s.creates}, {"Update", s.updates}, {"Patch", s.patches},
		{"Apply", s.applies}, {"Delete", s.deletes}, {"DeleteAllOf", s.deletesOfMany}, {"Status", s.statuses},
		{"SubResource", s.subresources}, {"Watch", s.watches}, {"Wrappers", s.wrappers}, {"Kinds", s.kinds},
	} {
		s.group = table.group
		table.add()
	}
	return s.calls, nil
}

// call adds a row. Each call has a client of its own, because what controller-runtime's sends may depend
// on the calls before: see "after an unstructured read".
func (s *side) call(name string, do func(t *wire.Take) error) {
	s.calls = append(s.calls, wire.Call{Group: s.group, Name: name, Do: func(t *wire.Take) error {
		s.c = s.open(client.Options{})
		return do(t)
	}})
}

// forms adds a row for each form of objects.
func (s *side) forms(name string, do func(t *wire.Take, form wire.Form) error) {
	for _, form := range wire.Forms {
		s.call(name+", "+string(form), func(t *wire.Take) error { return do(t, form) })
	}
}

func config(t *wire.Take, suffix string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: t.Meta(suffix), Data: map[string]string{"key": "value"}}
}

func widget(t *wire.Take, suffix string) *wire.Widget {
	return &wire.Widget{ObjectMeta: t.Meta(suffix), Spec: wire.WidgetSpec{Replicas: 2, Color: "red"}}
}

// pod is one that no scheduler takes, so that nobody else changes it.
func pod(t *wire.Take, suffix string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: t.Meta(suffix), Spec: corev1.PodSpec{
		SchedulerName: "nobody", AutomountServiceAccountToken: new(false),
		Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}},
	}}
}

func deployment(t *wire.Take) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: t.Meta("")}
	d.Spec.Replicas = new(int32(1))
	d.Spec.Selector = &selector{MatchLabels: t.Labels()}
	d.Spec.Template.Labels = t.Labels()
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/main"}}
	return d
}
