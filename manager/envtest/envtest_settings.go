package envtest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/loopwright/loopwright/cluster"
)

// What the environment variables say counts where the fields of an Environment say nothing.
const (
	existingVariable     = "USE_EXISTING_CLUSTER"
	startTimeoutVariable = "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT"
	stopTimeoutVariable  = "KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT"
	attachVariable       = "KUBEBUILDER_ATTACH_CONTROL_PLANE_OUTPUT"

	// defaultTimeout is for each process. controller-runtime gives each 20 seconds, and five
	// tries.
	defaultTimeout = time.Minute
)

func (te *Environment) usesExistingCluster() (bool, error) {
	if te.UseExistingCluster != nil {
		return *te.UseExistingCluster, nil
	}
	return switchFromEnv(existingVariable)
}

func switchFromEnv(name string) (bool, error) {
	text := os.Getenv(name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s=%q: want true or false", name, text)
	}
	return on, nil
}

// applySettings hands the settings of the environment on to the processes.
func (te *Environment) applySettings() error {
	wanted := strings.TrimPrefix(te.DownloadBinaryAssetsVersion, "v")
	if compiled := cluster.KubernetesVersion(); wanted != "" && "v"+wanted != compiled {
		return fmt.Errorf("DownloadBinaryAssetsVersion is %s, but the control plane is compiled, and is %s: leave the version out",
			te.DownloadBinaryAssetsVersion, compiled)
	}
	if err := durationFromEnv(&te.ControlPlaneStartTimeout, startTimeoutVariable); err != nil {
		return err
	}
	if err := durationFromEnv(&te.ControlPlaneStopTimeout, stopTimeoutVariable); err != nil {
		return err
	}
	server, etcd := te.ControlPlane.GetAPIServer(), te.ControlPlane.getEtcd()
	server.StartTimeout, etcd.StartTimeout = te.ControlPlaneStartTimeout, te.ControlPlaneStartTimeout
	server.StopTimeout, etcd.StopTimeout = te.ControlPlaneStopTimeout, te.ControlPlaneStopTimeout

	attach, err := switchFromEnv(attachVariable)
	if err != nil {
		return err
	}
	if te.AttachControlPlaneOutput = te.AttachControlPlaneOutput || attach; !te.AttachControlPlaneOutput {
		return nil
	}
	if server.Out == nil {
		server.Out = os.Stdout
	}
	if server.Err == nil {
		server.Err = os.Stderr
	}
	if etcd.Out == nil {
		etcd.Out = os.Stdout
	}
	if etcd.Err == nil {
		etcd.Err = os.Stderr
	}
	return nil
}

func durationFromEnv(setting *time.Duration, name string) error {
	if *setting != 0 {
		return nil
	}
	*setting = defaultTimeout
	text := os.Getenv(name)
	if text == "" {
		return nil
	}
	duration, err := time.ParseDuration(text)
	if err != nil || duration <= 0 {
		return fmt.Errorf("%s=%q: want a duration, such as 40s or 2m", name, text)
	}
	*setting = duration
	return nil
}

// SetupEnvtestDefaultBinaryAssetsDirectory returns where the tool setup-envtest keeps its binaries.
// Nothing here uses them; a suite that names the directory goes on to compile.
func SetupEnvtestDefaultBinaryAssetsDirectory() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("looking for setup-envtest's directory: %w", err)
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "io.kubebuilder.envtest"), nil
	default:
		data := os.Getenv("XDG_DATA_HOME")
		if data == "" {
			data = filepath.Join(home, ".local", "share")
		}
		return filepath.Join(data, "kubebuilder-envtest"), nil
	}
}
