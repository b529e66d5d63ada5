package main

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	upstreamlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/loopwright/loopwright/manager/log"
)

// program is a controller that keeps all objects of a form in a cache, and reconciles each.
type program struct {
	config *rest.Config
	form   form
	// seen is called by each reconcile after it has read its object, or found none.
	seen func(name string)
}

// running is a program that was started.
type running struct {
	// read reads one object from the cache, as a reconcile does.
	read func(namespace, name string) error
	stop func() error
}

// side is one of the libraries, as its users write a controller with it: with a manager, or with an informer, a queue and
// a worker.
type side struct {
	name  string
	start func(program) (running, error)
}

var sides = []side{
	{name: "our manager", start: ourManager},
	{name: "controller-runtime", start: theirManager},
	{name: "our informer", start: ourInformer},
	{name: "client-go", start: theirInformer},
}

// run runs a program until it's told to stop.
func run(start func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1) // from the goroutine, once
	go func() { ended <- start(ctx) }()
	return func() error { cancel(); return <-ended }
}

func silence() {
	log.SetLogger(logr.Discard())
	upstreamlog.SetLogger(logr.Discard())
}
