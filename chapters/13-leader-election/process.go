package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopwright/loopwright/trace"
)

// replicaName is the environment variable that makes this program a replica.
const replicaName = "LOOPWRIGHT_CHAPTER_13_REPLICA"

const (
	noElection  = "no election"
	stopCommand = "stop"
	beginsToPay = "begins to pay"
)

// orders is the first line of a replica's input. It has the credentials, which belong neither into
// arguments nor into the environment.
type orders struct {
	Namespace  string
	NoElection bool
	Host       string
	APIPath    string
	User       string
	Password   string
	Token      string
	TokenFile  string
	TLS        rest.TLSClientConfig
	Exec       *clientcmdapi.ExecConfig
}

func ordersFor(config *rest.Config, namespace string, election bool) orders {
	return orders{Namespace: namespace, NoElection: !election, Host: config.Host, APIPath: config.APIPath,
		User: config.Username, Password: config.Password, Token: config.BearerToken, TokenFile: config.BearerTokenFile,
		TLS: config.TLSClientConfig, Exec: config.ExecProvider}
}

func (o orders) config() *rest.Config {
	return &rest.Config{Host: o.Host, APIPath: o.APIPath, Username: o.User, Password: o.Password, BearerToken: o.Token,
		BearerTokenFile: o.TokenFile, TLSClientConfig: o.TLS, ExecProvider: o.Exec, QPS: 50, Burst: 100, Timeout: 10 * time.Second}
}

// process is a replica that runs.
type process struct {
	command *exec.Cmd
	input   io.WriteCloser
	heard   sync.WaitGroup // the goroutine that reads its output
}

// start starts a replica, and records what it reports.
func start(name string, o orders, into *trace.Recorder) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command(self)}
	p.command.Env = append(os.Environ(), replicaName+"="+name)
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is for the demo, which ends it
	output, err := p.command.StdoutPipe()
	if err == nil {
		p.input, err = p.command.StdinPipe()
	}
	if err == nil {
		err = p.command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting the replica %s: %w", name, err)
	}
	p.heard.Go(func() { hear(output, into) })
	line, err := json.Marshal(o)
	if err == nil {
		_, err = p.input.Write(append(line, '\n'))
	}
	return p, err
}

// kill ends the process, even one that is suspended, and waits for it.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	p.heard.Wait()
	_ = p.command.Wait()
}

// report writes what is recorded, until ctx ends.
func report(ctx context.Context, from *trace.Recorder, to io.Writer) error {
	encoder, cursor := json.NewEncoder(to), from.Cursor()
	for {
		ended := cursor.Wait(ctx) != nil
		events, _ := cursor.Read()
		for _, event := range events {
			if err := encoder.Encode(event); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
	}
}

// hear records what a replica reports, with the time at which it is heard.
func hear(output io.Reader, into *trace.Recorder) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var event trace.Event
		if json.Unmarshal(lines.Bytes(), &event) == nil {
			into.Record(event)
		}
	}
}
