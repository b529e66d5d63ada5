package envtest

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopwright/loopwright/cluster"
)

// User is the user that the API server sees.
type User struct {
	Name   string
	Groups []string
}

// Authn is a way to authenticate users. A control plane calls Configure and Start before the API
// server starts, AddUser while it runs, and Stop after it has stopped. It calls Stop only after a
// Start that succeeded.
type Authn interface {
	// Configure gets a directory to write to, and the flags of the API server to change.
	Configure(workDir string, flags *Arguments) error
	Start() error
	// AddUser makes a user and returns a copy of a configuration that authenticates as that user.
	AddUser(user User, baseConfig *rest.Config) (*rest.Config, error)
	Stop() error
}

// certificates authenticates users by client certificates of the control plane's own CA.
type certificates struct{ running *cluster.Cluster }

func (*certificates) Configure(string, *Arguments) error { return nil }
func (*certificates) Start() error                       { return nil }
func (*certificates) Stop() error                        { return nil }

func (c *certificates) AddUser(user User, baseConfig *rest.Config) (*rest.Config, error) {
	made, err := c.running.UserConfig(user.Name, user.Groups)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(baseConfig)
	config.CertData, config.KeyData = made.CertData, made.KeyData
	return config, nil
}

// AuthenticatedUser is a user of a control plane. Its methods panic while the control plane does
// not run, because it has no address then.
type AuthenticatedUser struct {
	config  *rest.Config
	plane   *ControlPlane
	kubectl *KubeCtl // made at the first call of Kubectl
	// complete: the configuration has the API server's address and CA.
	complete bool
}

// Config returns the configuration that reaches the API server as this user.
func (u *AuthenticatedUser) Config() *rest.Config {
	if u.complete {
		return u.config
	}
	u.mustRun()
	server := u.plane.APIServer
	u.config.CAData = server.CA
	u.config.Host = server.ListenAddr.URL("https", "/").String()
	u.complete = true
	return u.config
}

func (u *AuthenticatedUser) mustRun() {
	if !u.plane.isRunning() {
		panic("the control plane does not run: Start it before you use its users")
	}
}

// KubeConfig returns the same as a kubeconfig file.
func (u AuthenticatedUser) KubeConfig() ([]byte, error) { return kubeconfigOf(u.Config()) }

// Kubectl returns a kubectl that acts as this user.
func (u *AuthenticatedUser) Kubectl() (*KubeCtl, error) {
	if u.kubectl != nil {
		return u.kubectl, nil
	}
	u.mustRun()
	content, err := u.KubeConfig()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(u.plane.dir, "*.kubeconfig") // removed with the directory
	if err != nil {
		return nil, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	_, err = file.Write(content)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig %s: %w", file.Name(), err)
	}
	u.kubectl = &KubeCtl{Path: u.plane.KubectlPath, Opts: []string{"--kubeconfig=" + file.Name()}}
	return u.kubectl, nil
}

// KubeCtl runs kubectl with the same options every time.
type KubeCtl struct {
	Path string
	Opts []string
}

// Run runs kubectl and returns what it printed.
func (k *KubeCtl) Run(args ...string) (stdout, stderr io.Reader, err error) {
	var out, complaints bytes.Buffer
	command := exec.Command(k.Path, slices.Concat(k.Opts, args)...)
	command.Stdout, command.Stderr = &out, &complaints
	err = command.Run()
	return &out, &complaints, err
}

// kubeconfigName is the name of the cluster, the user and the context.
const kubeconfigName = "envtest"

// kubeconfigOf writes a configuration as a kubeconfig file.
func kubeconfigOf(config *rest.Config) ([]byte, error) {
	server := config.Host
	if address, err := url.Parse(config.Host); err != nil || address.Host == "" {
		server = "https://" + config.Host // a bare host:port is allowed, too
		if !rest.IsConfigTransportTLS(*config) {
			server = "http://" + config.Host
		}
	}
	written := clientcmdapi.NewConfig()
	written.Clusters[kubeconfigName] = &clientcmdapi.Cluster{
		Server: server, CertificateAuthority: config.CAFile,
		CertificateAuthorityData: config.CAData,
		InsecureSkipTLSVerify:    config.Insecure, TLSServerName: config.ServerName,
	}
	written.AuthInfos[kubeconfigName] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientCertificate: config.CertFile,
		ClientKeyData: config.KeyData, ClientKey: config.KeyFile,
		Token: config.BearerToken, TokenFile: config.BearerTokenFile,
		Username: config.Username, Password: config.Password, Exec: config.ExecProvider,
	}
	written.Contexts[kubeconfigName] = &clientcmdapi.Context{
		Cluster: kubeconfigName, AuthInfo: kubeconfigName,
	}
	written.CurrentContext = kubeconfigName
	content, err := clientcmd.Write(*written)
	if err != nil {
		return nil, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return content, nil
}
