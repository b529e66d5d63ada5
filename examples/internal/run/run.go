// Package run is what the programs in examples have in common: each finds the cluster as kubectl
// does, works in a namespace of its own, and prints where X-ray shows it.
//
// Neighbours: below it are manager and xray. Above it are the programs, which docs/debugging.md is
// about.
package run

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

// Program is what a program works with.
type Program struct {
	// Namespace has all its objects, and the program's name.
	Namespace string
	// Config is what its managers connect with.
	Config *rest.Config
	// User does what people and other programs do. X-ray does not see its writes.
	User client.Client
	// Mended says that the trouble is to stay away.
	Mended bool
}

// Main runs a program until Ctrl-C.
func Main(name string, program func(context.Context, Program) error) {
	mended := flag.Bool("mended", false, "run it without the trouble")
	flag.Parse()
	ctrl.SetLogger(logr.FromSlogHandler(slog.Default().Handler()))
	ctx := ctrl.SetupSignalHandler()
	p := Program{Namespace: name, Config: ctrl.GetConfigOrDie(), Mended: *mended}
	err := p.begin(ctx)
	if err == nil {
		err = program(ctx, p)
	}
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func (p *Program) begin(ctx context.Context) (err error) {
	if p.User, err = client.New(p.Config, client.Options{}); err != nil {
		return err
	}
	return p.Make(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Namespace}})
}

// Make creates an object, unless it is there from an earlier run.
func (p Program) Make(ctx context.Context, object client.Object) error {
	return client.IgnoreAlreadyExists(p.User.Create(ctx, object))
}

// Manager returns a manager of the namespace's objects. X-ray shows it until ctx ends.
func (p Program) Manager(
	ctx context.Context, name string, options ctrl.Options,
) (ctrl.Manager, error) {
	options.Recorder = trace.New(0)
	options.Metrics.BindAddress = "0"
	options.Cache.DefaultNamespaces = map[string]cache.Config{p.Namespace: {}}
	url, err := xray.Serve(ctx, options.Recorder, nil)
	if err != nil {
		return nil, err
	}
	fmt.Printf("X-ray of %s: %s\n", name, url)
	return ctrl.NewManager(p.Config, options)
}

// Meta is the metadata of an object in the namespace.
func (p Program) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.Namespace, Name: name}
}

// Deployment is one that has no Pods.
func (p Program) Deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: p.Meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(0)),
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		},
	}}
}
