package speed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The users by whose names the API server tells the two apart.
const (
	originals = "originals"
	ours      = "ours"
)

// process is a running set of controllers.
type process struct {
	command *exec.Cmd
	begun   time.Time
}

// used is what a process has used.
type used struct {
	cpu  time.Duration
	peak float64 // MB of memory
}

// start starts the controllers of a user.
func (b *bench) start(who string) (*process, error) {
	log, err := os.Create(filepath.Join(b.dir, who+".log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	kubeconfig := filepath.Join(b.dir, who+".kubeconfig")
	command := exec.Command(b.program, kubeconfig)
	if who == originals {
		command = exec.Command(b.controlPlane, "kube-controller-manager", "--kubeconfig="+kubeconfig,
			"--controllers=deployment-controller,replicaset-controller,endpoints-controller",
			"--leader-elect=false", "--secure-port=0", "--kube-api-qps=100000", "--kube-api-burst=100000")
	}
	command.Stdout, command.Stderr, command.Dir = log, log, b.dir
	begun := time.Now()
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting the controllers of %s: %w", who, err)
	}
	return &process{command, begun}, nil
}

// stop ends the process.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_ = p.command.Wait() // kube-controller-manager ends with an error when it is told to end
	return nil
}

// used reads what Linux has counted.
func (p *process) used() (u used, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		return u, fmt.Errorf("reading what a process has used: %w", err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	for _, field := range fields[11:13] { // utime and stime, in ticks of 10 ms
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return u, err
		}
		u.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kB, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			if err != nil {
				return u, err
			}
			u.peak = kB / 1024
		}
	}
	return u, nil
}

// writeKubeconfig writes what a process needs to reach the cluster as a user.
func writeKubeconfig(path string, config *rest.Config) error {
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	file.CurrentContext = "x"
	return clientcmd.WriteToFile(*file, path)
}

// build compiles our program.
func build(ctx context.Context, to string) error {
	command := exec.CommandContext(ctx, "go", "build", "-o", to, "github.com/loopwright/loopwright/benchmarks/controllers/speed/program")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building our controllers: %w\n%s", err, output)
	}
	return nil
}
