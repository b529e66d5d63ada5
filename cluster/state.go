package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"time"
)

// state is what one command must know about an embedded cluster that another one started.
type state struct {
	APIServerPort int       `json:"apiServerPort"`
	EtcdPort      int       `json:"etcdPort"`
	Originals     []string  `json:"originals"`
	Started       time.Time `json:"started"`
	// Parts are the cluster's parts; none means all.
	Parts []Part `json:"parts,omitempty"`
	// Binaries tells which build runs, so that Up after an update starts over.
	Binaries string `json:"binaries"`

	// lifeline is the reading end of the pipe that an ephemeral cluster's parts
	// inherit.
	lifeline *os.File
}

func (s state) has(part Part) bool { return len(s.Parts) == 0 || slices.Contains(s.Parts, part) }
func (s state) etcdURL() string    { return fmt.Sprintf("https://127.0.0.1:%d", s.EtcdPort) }
func (s state) serverURL() string  { return fmt.Sprintf("https://127.0.0.1:%d", s.APIServerPort) }

// loadState returns false if there's no cluster. A file that can't be read as state counts as none:
// Up then makes a new one, and Down removes it.
func loadState(at place) (state, bool, error) {
	content, err := os.ReadFile(at.state())
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, false, nil
	}
	if err != nil {
		return state{}, false, fmt.Errorf("reading the cluster's state: %w", err)
	}
	var loaded state
	if json.Unmarshal(content, &loaded) != nil || loaded.APIServerPort == 0 || loaded.EtcdPort == 0 {
		return state{}, false, nil
	}
	return loaded, true, nil
}

func (s state) save(at place) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the cluster's state: %w", err)
	}
	return privateFile(at.state(), append(content, '\n'))
}

// listen is net.Listen, except in the test in which there's no free port.
var listen = net.Listen

// choosePorts keeps the ports of an earlier start that are still free, so that copies of the
// kubeconfig stay valid, and finds others for the rest.
func (s *state) choosePorts(wanted int) error {
	if wanted != 0 {
		s.APIServerPort = wanted
		if err := checkWantedPort(wanted); err != nil {
			return err
		}
	}
	if s.EtcdPort == s.APIServerPort { // the one that is wanted now was etcd's
		s.EtcdPort = 0
	}
	for _, port := range []*int{&s.APIServerPort, &s.EtcdPort} {
		if *port != 0 && probePort(*port) == nil {
			continue
		}
		var err error
		if *port, err = freePort(s.APIServerPort); err != nil {
			return err
		}
	}
	return nil
}

func checkWantedPort(port int) error {
	if err := probePort(port); err != nil {
		return fmt.Errorf("port %d on 127.0.0.1 cannot be used: %w: free it, choose another with PORT=..., or leave PORT away", port, err)
	}
	return nil
}

func probePort(port int) error {
	listener, err := listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return listener.Close()
}

// freePort finds a port that is free now, other than avoid. Another process may take it before the
// part does: Up then tries again.
func freePort(avoid int) (int, error) {
	for {
		listener, err := listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("no free port on 127.0.0.1: %w: end programs that hold many connections, or wait a minute for closed ones to expire", err)
		}
		port := listener.Addr().(*net.TCPAddr).Port
		if err := listener.Close(); err != nil {
			return 0, fmt.Errorf("giving back port %d: %w", port, err)
		}
		if port != avoid {
			return port, nil
		}
	}
}
