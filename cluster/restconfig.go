package cluster

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// restConfigFrom reads a configuration for Go. Every configuration that this package uses or
// returns comes from here, because all of them leave flow control to the API server: client-go's
// default limit of 5 requests per second would slow down a demo's burst.
func restConfigFrom(kubeconfig clientcmd.ClientConfig) (*rest.Config, error) {
	config, err := kubeconfig.ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// restConfigFromFile reads the current context of one file.
func restConfigFromFile(path string) (*rest.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	return restConfigFrom(clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil))
}

// withTimeout limits each request, so that Up, Inspect and Restart don't hang if the server does.
func withTimeout(config *rest.Config) *rest.Config {
	limited := rest.CopyConfig(config)
	limited.Timeout = checkLimit
	return limited
}
