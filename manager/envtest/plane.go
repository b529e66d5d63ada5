package envtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
)

// buildLimit is how long a first compilation may take.
const buildLimit = time.Hour

// ControlPlane is an etcd and an API server, with a directory of their own that lives as long as they
// do. An Environment starts and stops the one that it has.
type ControlPlane struct {
	APIServer *APIServer
	Etcd      *Etcd
	// KubectlPath is a kubectl that was compiled with the control plane. Start sets it.
	KubectlPath string

	// running and dir are set between Start and Stop.
	running *cluster.Cluster
	dir     string
}

// GetAPIServer returns the API server, and makes one if there is none, so that its flags can be set.
func (p *ControlPlane) GetAPIServer() *APIServer {
	if p.APIServer == nil {
		p.APIServer = &APIServer{}
	}
	return p.APIServer
}

func (p *ControlPlane) getEtcd() *Etcd {
	if p.Etcd == nil {
		p.Etcd = &Etcd{}
	}
	return p.Etcd
}

func (p *ControlPlane) isRunning() bool { return p.running != nil }

// Start compiles the control plane, if that was never done, and starts it. It returns when the API
// server is ready. What a failing Start has started it stops.
func (p *ControlPlane) Start() error {
	if p.isRunning() {
		return errors.New("starting the control plane: it runs already: Stop it first")
	}
	server, etcd := p.GetAPIServer(), p.getEtcd()
	port, err := server.check()
	if err = errors.Join(err, etcd.check()); err != nil {
		return fmt.Errorf("starting the control plane: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	if err := cluster.Build(ctx, os.Stderr); err != nil {
		return err
	}
	if p.dir, err = os.MkdirTemp("", "loopwright-envtest-"); err != nil {
		return fmt.Errorf("starting the control plane: %w: set TMPDIR to a directory that you can write to", err)
	}
	if err := p.start(port); err != nil {
		err = errors.Join(err, os.RemoveAll(p.dir))
		p.dir = ""
		return fmt.Errorf("starting the control plane: %w", err)
	}
	return nil
}

func (p *ControlPlane) start(port int) error {
	server, etcd := p.APIServer, p.Etcd
	if server.Authn != nil {
		work := filepath.Join(p.dir, "authn")
		if err := os.Mkdir(work, 0o700); err != nil {
			return err
		}
		if err := errors.Join(server.Authn.Configure(work, server.Configure()), server.Authn.Start()); err != nil {
			return fmt.Errorf("preparing the authentication: %w", err)
		}
	}
	limit := orDefault(server.StartTimeout) + orDefault(etcd.StartTimeout)
	late := fmt.Errorf("not ready within %s: give it more with ControlPlaneStartTimeout", limit)
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, late)
	defer cancel()
	running, err := cluster.Up(ctx, cluster.Options{
		Dir: filepath.Join(p.dir, "state"), Port: port,
		Parts: []cluster.Part{cluster.Etcd, cluster.APIServer}, Ephemeral: true, RemoveDir: p.dir,
		Arguments: p.arguments, Output: p.output,
	})
	if err != nil {
		if server.Authn != nil {
			err = errors.Join(err, server.Authn.Stop())
		}
		return err
	}
	p.running = running
	return p.describe()
}

// describe sets the fields that say where everything is.
func (p *ControlPlane) describe() error {
	config := p.running.RESTConfig()
	address, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	etcdAddress, err := url.Parse(p.running.EtcdURL())
	if err != nil {
		return err
	}
	p.KubectlPath = p.running.Kubectl
	p.Etcd.URL, p.Etcd.DataDir, p.Etcd.running = etcdAddress, filepath.Join(p.dir, "state", "cluster", "etcd"), p.running
	server := p.APIServer
	server.given, server.givenAuthn = server.ListenAddr, server.Authn
	server.ListenAddr = ListenAddr{Address: address.Hostname(), Port: address.Port()}
	server.CA, server.CertDir = config.CAData, filepath.Join(p.dir, "state", "cluster", "pki")
	server.EtcdURL, server.running = etcdAddress, p.running
	if server.Authn == nil {
		server.Authn = &certificates{running: p.running}
	}
	return nil
}

// forget undoes describe, so that a next Start finds what a user has set, and nothing else.
func (p *ControlPlane) forget() {
	p.KubectlPath = ""
	p.Etcd.URL, p.Etcd.DataDir, p.Etcd.running = nil, "", nil
	server := p.APIServer
	server.ListenAddr, server.Authn = server.given, server.givenAuthn
	server.CA, server.CertDir, server.EtcdURL, server.running = nil, "", nil, nil
}

// Stop stops the processes and removes their directory. Stopping what does not run is no error.
func (p *ControlPlane) Stop() error {
	if !p.isRunning() {
		return nil
	}
	limit := orDefault(p.APIServer.StopTimeout) + orDefault(p.Etcd.StopTimeout)
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("not stopped within %s", limit))
	defer cancel()
	if err := p.running.Down(ctx); err != nil {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	err := p.APIServer.Authn.Stop()
	p.forget()
	err = errors.Join(err, os.RemoveAll(p.dir))
	p.running, p.dir = nil, ""
	if err != nil {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	return nil
}

// AddUser makes a user with a name and groups. A new one has no rights but those of its groups:
// system:masters may do everything, and RBAC gives rights to others.
//
// The user's configuration is a copy of baseConfig, which may be nil, with what it takes to reach the
// API server as that user.
func (p *ControlPlane) AddUser(user User, baseConfig *rest.Config) (*AuthenticatedUser, error) {
	authn := p.GetAPIServer().Authn
	if authn == nil {
		return nil, fmt.Errorf("adding the user %s: there is no control plane to add it to: Start one first; an existing cluster gets its users elsewhere", user.Name)
	}
	if baseConfig == nil {
		baseConfig = &rest.Config{}
	}
	config, err := authn.AddUser(user, baseConfig)
	if err != nil {
		return nil, fmt.Errorf("adding the user %s: %w", user.Name, err)
	}
	return &AuthenticatedUser{config: config, plane: p}, nil
}

func (p *ControlPlane) output(part cluster.Part) (stdout, stderr io.Writer) {
	if part == cluster.Etcd {
		return p.Etcd.Out, p.Etcd.Err
	}
	return p.APIServer.Out, p.APIServer.Err
}

func orDefault(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return defaultTimeout
	}
	return timeout
}
