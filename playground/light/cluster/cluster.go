// Package cluster takes the place of this module's own in package demo: in a page, a demo plays on an
// API server in memory, and no cluster can be brought up.
package cluster

import (
	"context"
	"errors"
	"io"

	"k8s.io/client-go/rest"
)

// Mode says where a cluster comes from.
type Mode string

// Embedded is none of a page's.
const Embedded Mode = "embedded"

// Options are none.
type Options struct{}

// OptionsFromEnv returns none.
func OptionsFromEnv() (Options, error) { return Options{}, nil }

// Cluster is an API server that a page has started.
type Cluster struct {
	Mode                      Mode
	Name, Kubeconfig, Kubectl string

	config *rest.Config
}

// Of returns a cluster for an API server.
func Of(name string, config *rest.Config) *Cluster { return &Cluster{Name: name, config: config} }

// RESTConfig returns a copy of the configuration.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Exclusive has nobody to wait for.
func (c *Cluster) Exclusive(context.Context, string, io.Writer) (release func(), err error) {
	return func() {}, nil
}

// Up refuses.
func Up(context.Context, Options) (*Cluster, error) {
	return nil, errors.New("a page brings up no cluster")
}

// ShellWord is never called: a page has no shell.
func ShellWord(word string) string { return word }
