package website

import (
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Process is what one process of the program doesn't share with others.
type Process struct {
	Cluster *mini.Cluster
	Elector *mini.Elector
	CDN     *CDN
	Image   string // of a web server
	Name    string // which the CDN logs
}

// NewProcess returns a process that is connected with the cluster of a demo.
func NewProcess(d *demo.Demo, cdn *CDN, name string) (Process, error) {
	cluster, err := mini.NewCluster(d.Config(), example.NewScheme())
	if err != nil {
		return Process{}, err
	}
	cluster.Trace = d.Recorder
	elector := &mini.Elector{
		Client: &mini.Client{Cluster: cluster}, Identity: name,
		Lease: mini.Request{Namespace: d.Namespace, Name: "websites"},
	}
	return Process{cluster, elector, cdn, d.Image, name}, nil
}

// Reconciler returns the Reconciler of Websites.
func (p Process) Reconciler(client *mini.CachedClient) *Reconciler {
	return &Reconciler{Client: client, CDN: p.CDN, Image: p.Image, Name: p.Name}
}
