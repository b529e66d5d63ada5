package envtest

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
)

// Suites list CRDs with a client of client-go's scheme, and count on it that importing envtest has
// taught CRDs to that scheme, as controller-runtime's does.
func init() {
	if err := apiextensionsv1.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
}

// CRDInstallOptions say which CustomResourceDefinitions to install, and how.
type CRDInstallOptions struct {
	// Scheme says which kinds have conversion webhooks: those of which one version is a Hub. nil
	// stands for the scheme of client-go.
	Scheme *runtime.Scheme
	// Paths are files, and directories with files, of YAML or JSON. Of a directory, its own files
	// ending in .yaml, .yml and .json are read; objects of other kinds are skipped.
	Paths []string
	// CRDs are installed in addition.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// ErrorIfPathMissing makes a path that does not exist an error. Otherwise it is skipped.
	ErrorIfPathMissing bool
	// MaxTime is how long the CRDs may take to be served. The default is 10 seconds.
	MaxTime time.Duration
	// PollInterval is how often to look. The default is 100 milliseconds.
	PollInterval time.Duration
	// CleanUpAfterUse removes the CRDs when the Environment stops.
	CleanUpAfterUse bool
	// WebhookOptions say where conversion webhooks are served. An Environment sets them.
	WebhookOptions WebhookInstallOptions
}

func (o CRDInstallOptions) withDefaults() CRDInstallOptions {
	if o.Scheme == nil {
		o.Scheme = scheme.Scheme
	}
	o.MaxTime, o.PollInterval = waitsOrDefault(o.MaxTime, o.PollInterval)
	return o
}

func waitsOrDefault(max, interval time.Duration) (time.Duration, time.Duration) {
	if max == 0 {
		max = defaultMaxWait
	}
	if interval == 0 {
		interval = defaultPollInterval
	}
	return max, interval
}

// InstallCRDs reads CRDs, installs them, waits until they are served, and returns them. One that is
// there already is updated.
func InstallCRDs(config *rest.Config, options CRDInstallOptions) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	options = options.withDefaults()
	if err := ReadCRDFiles(&options); err != nil {
		return nil, err
	}
	if err := directConversions(options.CRDs, options.Scheme, options.WebhookOptions); err != nil {
		return nil, err
	}
	if err := CreateCRDs(config, options.CRDs); err != nil {
		return nil, err
	}
	if err := WaitForCRDs(config, options.CRDs, options); err != nil {
		return nil, err
	}
	return options.CRDs, nil
}

// CreateCRDs creates or updates CRDs, and does not wait until they are served. It does wait, 10
// seconds for each, for the end of one of the same name that is being deleted.
func CreateCRDs(config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	c, err := newClient(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
	defer cancel()
	for _, crd := range crds {
		if err := put(ctx, c, crd); err != nil {
			return fmt.Errorf("installing the CRD %s: %w", crd.Name, err)
		}
	}
	return nil
}

// UninstallCRDs deletes CRDs, and with them all their objects. It does not wait for the end of that.
// Deleting what is not there is no error.
func UninstallCRDs(config *rest.Config, options CRDInstallOptions) error {
	if err := ReadCRDFiles(&options); err != nil {
		return err
	}
	c, err := newClient(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
	defer cancel()
	for _, crd := range options.CRDs {
		if err := c.Delete(ctx, crd); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing the CRD %s: %w", crd.Name, err)
		}
	}
	return nil
}

func newClient(config *rest.Config) (client.Client, error) {
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client to install with: %w", err)
	}
	return c, nil
}
