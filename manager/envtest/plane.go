package envtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
)

// buildLimit is how long a first compilation may take.
const buildLimit = time.Hour

// ControlPlane is an etcd and an API server, with a directory that exists as long as they run. An
// Environment starts and stops its ControlPlane.
type ControlPlane struct {
	APIServer *APIServer
	Etcd      *Etcd
	// KubectlPath is a kubectl that was compiled with the control plane. Start sets it.
	KubectlPath string

	// running and dir are set between Start and Stop.
	running *cluster.Cluster
	dir     string
}

// GetAPIServer returns the API server, and makes one if there's none, so that a user can set its
// flags.
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

// Start compiles the control plane, if it wasn't compiled before, and starts it. It returns when
// the API server is ready. A Start that fails stops what it had started.
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
		return fmt.Errorf("starting the control plane: %w: set TMPDIR to a directory that you "+
			"can write to", err)
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
		err := server.Authn.Configure(work, server.Configure())
		if err == nil {
			err = server.Authn.Start()
		}
		if err != nil {
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
	if err := p.describe(); err != nil {
		return errors.Join(err, p.Stop())
	}
	return nil
}

// describe sets the fields with addresses, paths and certificates.
func (p *ControlPlane) describe() error {
	server := p.APIServer
	server.given, server.givenAuthn = server.ListenAddr, server.Authn
	if server.Authn == nil {
		server.Authn = &certificates{running: p.running}
	}
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
	p.Etcd.URL, p.Etcd.running = etcdAddress, p.running
	p.Etcd.DataDir = filepath.Join(p.dir, "state", "cluster", "etcd")
	server.ListenAddr = ListenAddr{Address: address.Hostname(), Port: address.Port()}
	server.CA, server.CertDir = config.CAData, filepath.Join(p.dir, "state", "cluster", "pki")
	server.EtcdURL, server.running = etcdAddress, p.running
	return nil
}

// forget undoes describe, so that the next Start finds only what a user has set.
func (p *ControlPlane) forget() {
	p.KubectlPath = ""
	p.Etcd.URL, p.Etcd.DataDir, p.Etcd.running = nil, "", nil
	server := p.APIServer
	server.ListenAddr, server.Authn = server.given, server.givenAuthn
	server.CA, server.CertDir, server.EtcdURL, server.running = nil, "", nil, nil
}

// Stop stops the processes and removes their directory. Without a running control plane it does
// nothing.
func (p *ControlPlane) Stop() error {
	if !p.isRunning() {
		return nil
	}
	limit := orDefault(p.APIServer.StopTimeout) + orDefault(p.Etcd.StopTimeout)
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit,
		fmt.Errorf("not stopped within %s", limit))
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

// AddUser makes a user with a name and groups. A new user has no rights except those of its groups:
// system:masters may do everything, and RBAC gives rights to others.
//
// The user's configuration is a copy of baseConfig, which may be nil, with the address and the
// credentials of that user.
func (p *ControlPlane) AddUser(user User, baseConfig *rest.Config) (*AuthenticatedUser, error) {
	authn := p.GetAPIServer().Authn
	if authn == nil {
		return nil, fmt.Errorf("adding the user %s: there is no control plane to add it to: "+
			"Start one first; an existing cluster gets its users elsewhere", user.Name)
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

// ListenAddr is an address and a port.
type ListenAddr struct {
	Address string
	Port    string
}

// URL returns the address as a URL.
func (l *ListenAddr) URL(scheme, path string) *url.URL {
	return &url.URL{Scheme: scheme, Host: l.HostPort(), Path: path}
}

// HostPort returns the address as host:port.
func (l *ListenAddr) HostPort() string { return net.JoinHostPort(l.Address, l.Port) }

// SecureServing says where the API server serves, and how it authenticates users.
type SecureServing struct {
	// ListenAddr may be given a port; Start sets the address that is used. The address is
	// 127.0.0.1.
	ListenAddr
	// CA is the certificate of the CA that signed the API server's. Start sets it.
	CA []byte
	// Authn makes the users; nil stands for client certificates. Start sets the one that is used.
	Authn
}

// APIServer is the process kube-apiserver. The ControlPlane starts it. A later Stop and Start
// simulate an outage for the controllers under test.
type APIServer struct {
	SecureServing

	// Path can't be set, because the API server is compiled.
	Path string
	// CertDir is where the certificates are, and EtcdURL is etcd's address. Start sets them.
	CertDir string
	EtcdURL *url.URL

	// StartTimeout and StopTimeout are how long a start and a stop may take. The default is a
	// minute.
	StartTimeout time.Duration
	StopTimeout  time.Duration
	// Out and Err get what the process prints. A log file gets it, too, and an error quotes the end
	// of that.
	Out io.Writer
	Err io.Writer

	arguments *Arguments
	running   *cluster.Cluster // nil unless the control plane has been started
	// given and givenAuthn are the user's settings, before Start overwrote them.
	given      ListenAddr
	givenAuthn Authn
}

// Configure returns the flags that the API server gets in addition to the default ones.
func (s *APIServer) Configure() *Arguments {
	if s.arguments == nil {
		s.arguments = EmptyArguments()
	}
	return s.arguments
}

// Start starts an API server that Stop has stopped, with its old port, users and data.
func (s *APIServer) Start() error {
	return startPart(s.running, cluster.APIServer, s.StartTimeout)
}

// Stop stops the API server and leaves etcd running.
func (s *APIServer) Stop() error {
	return stopPart(s.running, cluster.APIServer, s.StopTimeout)
}

// check refuses settings that aren't supported, and returns the port that the user wants, or 0.
func (s *APIServer) check() (port int, err error) {
	if s.Path != "" {
		err = fmt.Errorf(
			"APIServer.Path is %q, but the API server is compiled: leave Path empty", s.Path)
	}
	if s.CertDir != "" {
		err = errors.Join(err, fmt.Errorf("APIServer.CertDir is %q, but the certificates have "+
			"a directory of their own: leave CertDir empty", s.CertDir))
	}
	if s.EtcdURL != nil {
		err = errors.Join(err, fmt.Errorf("APIServer.EtcdURL is %q, but the API server uses "+
			"the control plane's etcd: leave EtcdURL empty", s.EtcdURL))
	}
	if a := s.Address; a != "" && a != "127.0.0.1" && a != "localhost" {
		err = errors.Join(err, fmt.Errorf("SecureServing.Address is %q, but the API server "+
			"serves on 127.0.0.1 alone: leave Address empty", a))
	}
	if s.Port != "" {
		number, notNumber := strconv.ParseUint(s.Port, 10, 16)
		if notNumber != nil {
			err = errors.Join(err, fmt.Errorf(
				"SecureServing.Port is %q: want a number, or nothing for any free port", s.Port))
		}
		port = int(number)
	}
	return port, err
}

// Etcd is the process etcd. It accepts only the API server as a client.
type Etcd struct {
	// URL is its address. Start sets it.
	URL *url.URL
	// Path can't be set, because etcd is compiled.
	Path string
	// DataDir has its data. Start sets it; Stop deletes the data.
	DataDir string

	// StartTimeout and StopTimeout are how long a start and a stop may take. The default is a
	// minute.
	StartTimeout time.Duration
	StopTimeout  time.Duration
	// Out and Err get what the process prints. A log file gets it, too, and an error quotes the end
	// of that.
	Out io.Writer
	Err io.Writer

	arguments *Arguments
	running   *cluster.Cluster // nil unless the control plane has been started
}

// Configure returns the flags of etcd. Only flags that it gets by default can be changed.
func (e *Etcd) Configure() *Arguments {
	if e.arguments == nil {
		e.arguments = EmptyArguments()
	}
	return e.arguments
}

// Start starts an etcd that Stop has stopped, with its old data.
func (e *Etcd) Start() error { return startPart(e.running, cluster.Etcd, e.StartTimeout) }

// Stop stops etcd and leaves the API server running, which can do little without it.
func (e *Etcd) Stop() error { return stopPart(e.running, cluster.Etcd, e.StopTimeout) }

func (e *Etcd) check() (err error) {
	if e.Path != "" {
		err = fmt.Errorf("Etcd.Path is %q, but etcd is compiled: leave Path empty", e.Path)
	}
	if e.URL != nil {
		err = errors.Join(err, fmt.Errorf(
			"Etcd.URL is %q, but etcd serves on a free port of 127.0.0.1: leave URL empty", e.URL))
	}
	if e.DataDir != "" {
		err = errors.Join(err, fmt.Errorf("Etcd.DataDir is %q, but the data have "+
			"a directory of their own: leave DataDir empty, and set TMPDIR", e.DataDir))
	}
	return err
}

func startPart(running *cluster.Cluster, part cluster.Part, timeout time.Duration) error {
	if running == nil {
		return fmt.Errorf("starting %s: it is a part of a control plane: "+
			"Start the Environment or its ControlPlane", part)
	}
	ctx, cancel := context.WithTimeout(context.Background(), orDefault(timeout))
	defer cancel()
	return running.StartPart(ctx, part)
}

func stopPart(running *cluster.Cluster, part cluster.Part, timeout time.Duration) error {
	if running == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), orDefault(timeout))
	defer cancel()
	return running.StopPart(ctx, part)
}

// clientCA is the flag for the CAs whose client certificates the API server accepts.
const clientCA = "client-ca-file"

// arguments returns the command line of a part: the default one, changed by its flags.
func (p *ControlPlane) arguments(part cluster.Part, defaults []string) ([]string, error) {
	known := parseFlags(defaults)
	if part == cluster.Etcd {
		for name := range p.Etcd.Configure().values {
			if _, found := known[name]; !found {
				return nil, fmt.Errorf("the compiled etcd has no flag --%s: "+
					"leave it out of Etcd.Configure()", name)
			}
		}
		return p.Etcd.Configure().AsStrings(known), nil
	}
	flags := p.APIServer.Configure()
	own := known[clientCA]
	theirs := flags.Get(clientCA).Get(own)
	line := flags.AsStrings(known)
	if len(theirs) != 1 || theirs[0] == own[0] {
		return line, nil
	}
	both, err := bundle(filepath.Join(p.dir, "client-ca.crt"), own[0], theirs[0])
	if err != nil {
		return nil, err
	}
	return append(line, "--"+clientCA+"="+both), nil // if a flag is repeated, the last one counts
}

// bundle makes one file of two CAs: that of a user's Authn, and the control plane's own, which
// envtest's own requests need.
func bundle(path string, parts ...string) (string, error) {
	var all bytes.Buffer
	for _, part := range parts {
		content, err := os.ReadFile(part)
		if err != nil {
			return "", fmt.Errorf("reading the CA of clients: %w", err)
		}
		all.Write(append(content, '\n'))
	}
	if err := os.WriteFile(path, all.Bytes(), 0o600); err != nil {
		return "", fmt.Errorf("writing the CAs of clients: %w", err)
	}
	return path, nil
}

// parseFlags groups the values of a command line by the names of its flags.
func parseFlags(line []string) map[string][]string {
	flags := map[string][]string{}
	for _, argument := range line {
		name, value, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		flags[name] = append(flags[name], value)
	}
	return flags
}
