package envtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/config"
)

// namespaceLimit is how long the API server may take, once it's ready, to create the namespace
// "default".
const namespaceLimit = 30 * time.Second

// Start starts the control plane, unless an existing cluster is used, and installs the CRDs and
// webhooks. It returns when all of them are served.
//
// Errors: a Start that fails stops what it has started, so no Stop is needed.
func (te *Environment) Start() (*rest.Config, error) {
	if err := te.connect(); err != nil {
		return nil, err
	}
	if err := te.install(); err != nil {
		if stopping := te.Stop(); stopping != nil {
			err = errors.Join(err,
				fmt.Errorf("and after that, stopping the environment: %w", stopping))
		}
		return nil, err
	}
	return te.Config, nil
}

// connect starts a control plane or connects to an existing cluster, and sets Config.
func (te *Environment) connect() error {
	existing, err := te.usesExistingCluster()
	if err != nil {
		return err
	}
	if existing {
		if te.Config != nil {
			return nil
		}
		if te.Config, err = config.GetConfig(); err != nil {
			return fmt.Errorf("looking for the existing cluster: %w", err)
		}
		return nil
	}
	if err := te.applySettings(); err != nil {
		return err
	}
	if err := te.ControlPlane.Start(); err != nil {
		return err
	}
	// A test doesn't have to spare its own API server: these limits are enough for any test.
	fast := &rest.Config{QPS: 1000, Burst: 2000}
	admin, err := te.ControlPlane.AddUser(
		User{Name: "admin", Groups: []string{"system:masters"}}, fast)
	if err != nil {
		return errors.Join(err, te.ControlPlane.Stop())
	}
	te.Config = admin.Config()
	return nil
}

// install puts CRDs and webhooks on the cluster.
func (te *Environment) install() error {
	if len(te.KubeConfig) == 0 {
		var err error
		if te.KubeConfig, err = kubeconfigOf(te.Config); err != nil {
			return err
		}
	}
	if te.Scheme == nil {
		te.Scheme = scheme.Scheme
	}
	if err := te.awaitDefaultNamespace(); err != nil {
		return err
	}
	// The webhooks come before the CRDs, because CRDs with a conversion webhook need their port and
	// CA.
	if err := te.WebhookInstallOptions.PrepWithoutInstalling(); err != nil {
		return err
	}
	crds := &te.CRDInstallOptions
	if crds.Scheme == nil {
		crds.Scheme = te.Scheme
	}
	crds.CRDs = mergeCRDs(crds.CRDs, te.CRDs)
	crds.Paths = merge(crds.Paths, te.CRDDirectoryPaths)
	crds.ErrorIfPathMissing = crds.ErrorIfPathMissing || te.ErrorIfCRDPathMissing
	crds.WebhookOptions = te.WebhookInstallOptions
	installed, err := InstallCRDs(te.Config, *crds)
	if err != nil {
		return err
	}
	te.CRDs = installed
	return te.WebhookInstallOptions.Install(te.Config)
}

func (te *Environment) awaitDefaultNamespace() error {
	c, err := client.New(te.Config, client.Options{})
	if err != nil {
		return err
	}
	exists := func(ctx context.Context) error {
		return c.Get(ctx, client.ObjectKey{Name: "default"}, &corev1.Namespace{})
	}
	return poll(context.Background(), defaultPollInterval, namespaceLimit,
		"waiting for the namespace default", exists)
}

// Stop removes what Start made: the control plane with all its data, and the webhooks'
// certificates. From an existing cluster it removes the CRDs if CRDInstallOptions.CleanUpAfterUse
// is set. It goes on after an error, and returns all errors. If nothing runs, it does nothing.
//
// controller-runtime's Stop returns at the first error, and leaves the processes running.
func (te *Environment) Stop() error {
	existing, err := te.usesExistingCluster()
	if te.CRDInstallOptions.CleanUpAfterUse && te.Config != nil &&
		(existing || te.ControlPlane.isRunning()) {
		err = errors.Join(err, UninstallCRDs(te.Config, te.CRDInstallOptions))
	}
	err = errors.Join(err, te.WebhookInstallOptions.Cleanup())
	if existing || !te.ControlPlane.isRunning() {
		return err
	}
	te.Config, te.KubeConfig = nil, nil // the next Start sets others
	return errors.Join(err, te.ControlPlane.Stop())
}

// AddUser makes a user of the control plane: see ControlPlane.AddUser.
func (te *Environment) AddUser(user User, baseConfig *rest.Config) (*AuthenticatedUser, error) {
	return te.ControlPlane.AddUser(user, baseConfig)
}
