// Package config finds a client's configuration in the usual places.
//
// A flag, the environment, the Pod's service account or the home directory go in; a rest.Config
// comes out.
//
// Neighbours: below it is client-go's clientcmd, which reads the files. Above it are programs' main
// functions.
package config

import (
	"flag"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/manager/log"
)

// KubeconfigFlagName is the name of the flag for the file.
const KubeconfigFlagName = "kubeconfig"

// kubeconfig has the flags of that name: one for each set of flags. They're read when the value is
// needed, after the command line was parsed, even if another package made them. controller-runtime
// reads other packages' flags at once, when they're always empty.
var kubeconfig struct {
	mu    sync.Mutex // guards flags
	flags []*flag.Flag
}

// The flag exists as soon as the package is loaded, as in controller-runtime: programs rely on it.
func init() { RegisterFlags(flag.CommandLine) }

// RegisterFlags adds the flag --kubeconfig to a set of flags, unless it has one; nil means the
// command line's, which already has it. If several sets have a value, the last one counts.
func RegisterFlags(fs *flag.FlagSet) {
	if fs == nil {
		fs = flag.CommandLine
	}
	if fs.Lookup(KubeconfigFlagName) == nil {
		fs.String(KubeconfigFlagName, "", "the kubeconfig file; not needed in a cluster")
	}
	kubeconfig.mu.Lock()
	defer kubeconfig.mu.Unlock()
	kubeconfig.flags = append(kubeconfig.flags, fs.Lookup(KubeconfigFlagName))
}

func flagValue() string {
	kubeconfig.mu.Lock()
	defer kubeconfig.mu.Unlock()
	for _, f := range slices.Backward(kubeconfig.flags) {
		if file := f.Value.String(); file != "" {
			return file
		}
	}
	return ""
}

// GetConfig returns the configuration from the first of these that exists:
//
//  1. the file that the flag --kubeconfig names
//  2. the files that the environment variable KUBECONFIG names
//  3. the service account of the Pod in which the program runs
//  4. the file .kube/config in the home directory
//
// Client-go's own limit on requests is off, because API servers have priority and fairness. To
// switch it on, set a QPS above zero in the returned configuration.
func GetConfig() (*rest.Config, error) { return GetConfigWithContext("") }

// GetConfigWithContext is GetConfig for a specific context of the kubeconfig file; empty means the
// current one.
func GetConfigWithContext(context string) (*rest.Config, error) {
	config, err := load(context)
	if err != nil {
		return nil, err
	}
	if config.QPS == 0 {
		config.QPS = -1
	}
	return config, nil
}

// GetConfigOrDie is GetConfig for main functions. Without a configuration it logs why, or writes
// that to standard error if no logger is set yet, and ends the process.
func GetConfigOrDie() *rest.Config {
	config, err := GetConfig()
	if err != nil {
		const why = "There is no configuration for a client"
		if logger := logger(); logger.Enabled() {
			logger.Error(err, why)
		} else {
			fmt.Fprintf(os.Stderr, "%s: %v\n", why, err)
		}
		os.Exit(1)
	}
	return config
}

func logger() logr.Logger { return log.RuntimeLog.WithName("client").WithName("config") }

// These are variables for tests, which don't run in a cluster or in anybody's home.
var (
	inCluster   = rest.InClusterConfig
	currentUser = user.Current
)

func load(context string) (*rest.Config, error) {
	if file := flagValue(); file != "" {
		return fromFiles(&clientcmd.ClientConfigLoadingRules{ExplicitPath: file}, context)
	}
	var notInCluster error
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		var config *rest.Config
		if config, notInCluster = inCluster(); notInCluster == nil {
			return config, nil
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if _, found := os.LookupEnv("HOME"); !found { // the rules know no other home
		current, err := currentUser()
		if err != nil {
			return nil, fmt.Errorf("find the home directory: %w", err)
		}
		rules.Precedence = append(rules.Precedence,
			filepath.Join(current.HomeDir, clientcmd.RecommendedHomeDir,
				clientcmd.RecommendedFileName))
	}
	config, err := fromFiles(rules, context)
	if err != nil && notInCluster != nil {
		// The error that is returned must be clientcmd's own: callers ask clientcmd.IsEmptyConfig.
		logger().Error(notInCluster, "There is no configuration of a pod either")
	}
	return config, err
}

func fromFiles(rules *clientcmd.ClientConfigLoadingRules, context string) (*rest.Config, error) {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
}
