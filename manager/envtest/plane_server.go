package envtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/loopwright/loopwright/cluster"
)

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

// SecureServing says where the API server serves, and who may use it.
type SecureServing struct {
	// ListenAddr may have a port, and has it after the start. The address is 127.0.0.1.
	ListenAddr
	// CA is the certificate of the CA that vouches for the API server. Start sets it.
	CA []byte
	// Authn makes the users; nil stands for client certificates. After Start it is the one that
	// is used.
	Authn
}

// APIServer is the process kube-apiserver. The ControlPlane starts it; Stop and Start, after that,
// take it away from under a controller and bring it back.
type APIServer struct {
	SecureServing

	// Path cannot be set, because the API server is compiled.
	Path string
	// CertDir is where the certificates are, and EtcdURL where etcd serves. Start sets them.
	CertDir string
	EtcdURL *url.URL

	// StartTimeout and StopTimeout are how long a start and a stop may take. The default is a
	// minute.
	StartTimeout time.Duration
	StopTimeout  time.Duration
	// Out and Err get what the process prints. It is in a log, too, and an error quotes its end.
	Out io.Writer
	Err io.Writer

	arguments *Arguments
	running   *cluster.Cluster // nil unless the control plane has been started
	// given and givenAuthn are what a user had set before Start set what is used.
	given      ListenAddr
	givenAuthn Authn
}

// Configure returns the flags that the API server gets beside the default ones.
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

// check refuses what cannot be had, and returns the port that is wanted, or 0.
func (s *APIServer) check() (port int, err error) {
	if s.Path != "" {
		err = fmt.Errorf("APIServer.Path is %q, but the API server is compiled: leave Path empty", s.Path)
	}
	if s.CertDir != "" {
		err = errors.Join(err, fmt.Errorf("APIServer.CertDir is %q, but the certificates have a directory of their own: leave CertDir empty", s.CertDir))
	}
	if s.EtcdURL != nil {
		err = errors.Join(err, fmt.Errorf("APIServer.EtcdURL is %q, but the API server uses the control plane's etcd: leave EtcdURL empty", s.EtcdURL))
	}
	if a := s.Address; a != "" && a != "127.0.0.1" && a != "localhost" {
		err = errors.Join(err, fmt.Errorf("SecureServing.Address is %q, but the API server serves on 127.0.0.1 alone: leave Address empty", a))
	}
	if s.Port != "" {
		number, notNumber := strconv.ParseUint(s.Port, 10, 16)
		if notNumber != nil {
			err = errors.Join(err, fmt.Errorf("SecureServing.Port is %q: want a number, or nothing for any free port", s.Port))
		}
		port = int(number)
	}
	return port, err
}

// Etcd is the process etcd. It is there for the API server, and lets nobody else in.
type Etcd struct {
	// URL is where it serves. Start sets it.
	URL *url.URL
	// Path cannot be set, because etcd is compiled.
	Path string
	// DataDir is where the data are. Start sets it; they are gone after Stop.
	DataDir string

	// StartTimeout and StopTimeout are how long a start and a stop may take. The default is a
	// minute.
	StartTimeout time.Duration
	StopTimeout  time.Duration
	// Out and Err get what the process prints. It is in a log, too, and an error quotes its end.
	Out io.Writer
	Err io.Writer

	arguments *Arguments
	running   *cluster.Cluster // nil unless the control plane has been started
}

// Configure returns the flags of etcd. Only those that it gets anyway can be changed.
func (e *Etcd) Configure() *Arguments {
	if e.arguments == nil {
		e.arguments = EmptyArguments()
	}
	return e.arguments
}

// Start starts an etcd that Stop has stopped, with its old data.
func (e *Etcd) Start() error { return startPart(e.running, cluster.Etcd, e.StartTimeout) }

// Stop stops etcd and leaves the API server running, which can do little then.
func (e *Etcd) Stop() error { return stopPart(e.running, cluster.Etcd, e.StopTimeout) }

func (e *Etcd) check() (err error) {
	if e.Path != "" {
		err = fmt.Errorf("Etcd.Path is %q, but etcd is compiled: leave Path empty", e.Path)
	}
	if e.URL != nil {
		err = errors.Join(err, fmt.Errorf("Etcd.URL is %q, but etcd serves on a free port of 127.0.0.1: leave URL empty", e.URL))
	}
	if e.DataDir != "" {
		err = errors.Join(err, fmt.Errorf("Etcd.DataDir is %q, but the data have a directory of their own: leave DataDir empty, and set TMPDIR", e.DataDir))
	}
	return err
}

func startPart(running *cluster.Cluster, part cluster.Part, timeout time.Duration) error {
	if running == nil {
		return fmt.Errorf("starting %s: it is a part of a control plane: Start the Environment or its ControlPlane", part)
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
