// Package envtest gives a test a Kubernetes API server of its own.
//
// An Environment starts an etcd and a kube-apiserver as local processes, installs
// CustomResourceDefinitions and webhook configurations, makes users, and returns the configuration
// to reach the API server. Stop removes everything. There's no controller manager, no scheduler and
// no node: only the controllers under test act on objects. Objects aren't garbage collected,
// namespaces never finish terminating, and Pods stay Pending.
//
//	environment := &envtest.Environment{CRDDirectoryPaths: []string{"config/crd/bases"}}
//	config, err := environment.Start()
//	...
//	err = environment.Stop()
//
// # Where the control plane comes from
//
// controller-runtime's envtest runs binaries that a tool has downloaded. This one compiles them
// from their Go modules, once, and keeps them in the user's cache directory. On two idle cores the
// first Start takes 3 to 5 minutes, or half a minute if Go's build cache has the packages. Every
// later one, of any test binary, takes a few seconds; BenchmarkStart measures it. To compile before
// the tests, run this first:
//
//	go run github.com/loopwright/loopwright/cluster/cmd/cluster build
//
// So KUBEBUILDER_ASSETS, the TEST_ASSET_ variables and BinaryAssetsDirectory have no effect, and
// DownloadBinaryAssets downloads nothing. A version other than the compiled one, or a path to a
// binary, is an error.
//
// # Guarantees
//
// Environments share nothing: any number of them, in one process or several, run at the same time.
// A Start that fails stops what it had started. If the test's process ends without Stop, even if it
// is killed, the control plane ends too, and removes its directory.
//
// Below it are package cluster, which runs the processes, and manager/client, which writes the
// objects. Above it are users' tests.
package envtest

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// StartTimeout and StopTimeout are common limits for a test that starts or stops an Environment, in
// seconds.
const (
	StartTimeout = 60
	StopTimeout  = 60
)

// Environment is a control plane for tests, with CRDs and webhooks installed. Its zero value is
// ready to Start. It isn't safe for use by several goroutines, but what Start returns is.
type Environment struct {
	// ControlPlane has the processes. Set flags of the API server before Start:
	//
	//	environment.ControlPlane.GetAPIServer().Configure().Append("feature-gates", "WatchList=true")
	ControlPlane ControlPlane

	// Scheme says which kinds have conversion webhooks: those with a version that is a Hub. nil
	// means client-go's scheme.
	Scheme *runtime.Scheme

	// Config reaches the API server as an administrator. Start sets it; for an existing cluster the
	// caller may set it.
	Config *rest.Config
	// KubeConfig is the same as a kubeconfig file. Start sets it unless the caller has.
	KubeConfig []byte

	CRDInstallOptions     CRDInstallOptions
	WebhookInstallOptions WebhookInstallOptions

	// ErrorIfCRDPathMissing is CRDInstallOptions.ErrorIfPathMissing.
	ErrorIfCRDPathMissing bool
	// CRDs are installed in addition to CRDInstallOptions.CRDs. After Start they are all CRDs that
	// were installed.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// CRDDirectoryPaths are read in addition to CRDInstallOptions.Paths.
	CRDDirectoryPaths []string

	// DownloadBinaryAssets has no effect: the binaries are compiled.
	DownloadBinaryAssets bool
	// DownloadBinaryAssetsVersion may only be the version that is compiled.
	DownloadBinaryAssetsVersion string
	// DownloadBinaryAssetsIndexURL is ignored, as nothing is downloaded.
	DownloadBinaryAssetsIndexURL string
	// BinaryAssetsDirectory is ignored: the binaries are compiled.
	BinaryAssetsDirectory string

	// UseExistingCluster installs on an existing cluster instead of starting one. nil leaves the
	// choice to the environment variable USE_EXISTING_CLUSTER.
	UseExistingCluster *bool

	// ControlPlaneStartTimeout is how long each of the two processes may take to start, not
	// counting a first compilation. The default is KUBEBUILDER_CONTROLPLANE_START_TIMEOUT, or else
	// a minute.
	ControlPlaneStartTimeout time.Duration
	// ControlPlaneStopTimeout is how long Stop may take for each of the two processes. A process
	// that hasn't exited after 3 seconds is killed before that. The default is
	// KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT, or else a minute.
	ControlPlaneStopTimeout time.Duration

	// AttachControlPlaneOutput copies the processes' output to this process's standard output and
	// error. KUBEBUILDER_ATTACH_CONTROL_PLANE_OUTPUT=true does the same.
	AttachControlPlaneOutput bool
}

// The API server doesn't announce when it serves a new object: discovery has no watch. So envtest
// has to poll.
const (
	defaultPollInterval = 100 * time.Millisecond
	// defaultMaxWait is how long installed objects may take to be served.
	defaultMaxWait = 10 * time.Second
	// requestLimit is how long installing or removing one list of objects may take.
	requestLimit = time.Minute
)

// poll calls check until it succeeds, and fails with its last error after max.
func poll(
	ctx context.Context, interval, max time.Duration, what string,
	check func(context.Context) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, max)
	defer cancel()
	for {
		last := check(ctx)
		if last == nil {
			return nil
		}
		pause := time.NewTimer(interval)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("%s: not within %s: %w", what, max, last)
		}
	}
}
