package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// current is the content of the kubeconfig that kubectl would use.
type current struct {
	context, server, file string
	config                *rest.Config
}

func loadCurrent() (current, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	raw, err := loader.RawConfig()
	if err != nil {
		return current{}, fmt.Errorf("CLUSTER=current: %s isn't a kubeconfig that kubectl would use: set KUBECONFIG to one that is: %w",
			strings.Join(rules.GetLoadingPrecedence(), ", "), err)
	}
	if raw.CurrentContext == "" {
		return current{}, fmt.Errorf("CLUSTER=current: no current context in %s: choose one with `kubectl config use-context`, or set KUBECONFIG",
			strings.Join(rules.GetLoadingPrecedence(), ", "))
	}
	config, err := restConfigFrom(loader)
	if err != nil {
		return current{}, fmt.Errorf("CLUSTER=current: context %q: %w", raw.CurrentContext, err)
	}
	file := rules.GetDefaultFilename()
	if chosen := raw.Contexts[raw.CurrentContext]; chosen != nil && chosen.LocationOfOrigin != "" {
		file = chosen.LocationOfOrigin
	}
	return current{context: raw.CurrentContext, server: config.Host, file: file, config: config}, nil
}

// useCurrent shows which cluster it's about to use and goes on only after a
// yes: a demo writes objects, and the current context may be production.
func useCurrent(ctx context.Context, options Options) (*Cluster, error) {
	found, err := loadCurrent()
	if err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(options.Out, "CLUSTER=current is the context %q, server %s, from %s.\n", found.context, found.server, found.file)
	if !options.Yes {
		if err := askForConsent(ctx, options); err != nil {
			return nil, err
		}
	}
	client, err := kubernetes.NewForConfig(withTimeout(found.config))
	if err != nil {
		return nil, fmt.Errorf("CLUSTER=current: making a client for context %q: %w", found.context, err)
	}
	if err := checkServing(ctx, client); err != nil {
		return nil, fmt.Errorf("CLUSTER=current: asking %s of context %q: %w", found.server, found.context, err)
	}
	return &Cluster{Mode: Current, Name: "context " + found.context + " at " + found.server, Kubeconfig: found.file, config: found.config}, nil
}

var errNoConsent = errors.New("CLUSTER=current: not used: answer y, or set YES=1 to agree beforehand")

// askForConsent reads one line. A closed or empty input is a no, and so is a context that ends
// before the answer.
func askForConsent(ctx context.Context, options Options) error {
	if options.In == nil {
		return errNoConsent
	}
	_, _ = fmt.Fprint(options.Out, "Use it? [y/N] ")
	answer := make(chan string, 1) // one: the answer may come after askForConsent has returned
	go func() {
		line, _ := bufio.NewReader(options.In).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case text := <-answer:
		if text == "y" || text == "yes" {
			return nil
		}
		return errNoConsent
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func inspectCurrent(ctx context.Context) (Status, error) {
	found, err := loadCurrent()
	if err != nil {
		return Status{}, err
	}
	status := Status{Mode: Current, Name: "context " + found.context + " at " + found.server, Kubeconfig: found.file}
	client, err := kubernetes.NewForConfig(withTimeout(found.config))
	if err != nil {
		return status, fmt.Errorf("making a client for context %q: %w", found.context, err)
	}
	if status.Problem = checkServing(ctx, client); status.Problem != nil {
		return status, nil
	}
	status.Running = true
	status.Nodes, status.ReadyNodes, err = readyNodes(ctx, client, metav1.ListOptions{})
	return status, err
}
