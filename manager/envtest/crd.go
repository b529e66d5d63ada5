package envtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/webhook/conversion"
)

// Test suites list CRDs with a client of client-go's scheme, and rely on importing envtest to add
// the CRD types to that scheme, as importing controller-runtime's does.
func init() {
	if err := apiextensionsv1.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
}

// CRDInstallOptions say which CustomResourceDefinitions to install, and how.
type CRDInstallOptions struct {
	// Scheme says which kinds have conversion webhooks: those with a version that is a Hub. nil
	// means client-go's scheme.
	Scheme *runtime.Scheme
	// Paths are files, and directories with files, of YAML or JSON. In a directory, only its own
	// files ending in .yaml, .yml and .json are read; objects of other kinds are skipped.
	Paths []string
	// CRDs are installed in addition.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// ErrorIfPathMissing makes a path that doesn't exist an error. Otherwise it's skipped.
	ErrorIfPathMissing bool
	// MaxTime is how long the CRDs may take to be served. The default is 10 seconds.
	MaxTime time.Duration
	// PollInterval is the pause between two checks. The default is 100 milliseconds.
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

// InstallCRDs reads CRDs, installs them, waits until they're served, and returns them. It updates a
// CRD that already exists.
func InstallCRDs(
	config *rest.Config, options CRDInstallOptions,
) ([]*apiextensionsv1.CustomResourceDefinition, error) {
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

// CreateCRDs creates or updates CRDs, and doesn't wait until they're served. If a CRD of the same
// name is being deleted, it waits for that, up to 10 seconds.
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

// UninstallCRDs deletes CRDs, and with them all their objects. It doesn't wait for the end of the
// deletion. Deleting a missing CRD isn't an error.
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
		err := c.Delete(ctx, crd)
		if err != nil && !client.IsAbsent(err, client.ObjectKeyFromObject(crd)) {
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

// conversionPath is the path at which a webhook server converts objects.
const conversionPath = "convert"

// directConversions points the conversion webhooks to the local port, for the kinds that the scheme
// can convert. It removes the conversion webhook from the others: the manifest may name one that a
// test doesn't serve.
func directConversions(
	crds []*apiextensionsv1.CustomResourceDefinition, scheme *runtime.Scheme,
	o WebhookInstallOptions,
) error {
	if len(o.LocalServingCAData) == 0 {
		return nil
	}
	hostPort, err := o.hostPort()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if crd.Spec.PreserveUnknownFields {
			continue // the API server refuses a conversion webhook for such a CRD
		}
		kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
		if !o.IgnoreSchemeConvertible && !converts(scheme, kind) {
			crd.Spec.Conversion = nil
			continue
		}
		url := "https://" + hostPort + "/" + conversionPath
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1", "v1beta1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{
					URL: &url, CABundle: o.LocalServingCAData,
				},
			},
		}
	}
	return nil
}

// converts returns true if the Go types of a kind convert themselves. It skips a kind of which only
// some versions do, as in controller-runtime: the builder of its webhooks reports what is missing.
func converts(scheme *runtime.Scheme, kind schema.GroupKind) bool {
	for known := range scheme.AllKnownTypes() {
		if known.GroupKind() != kind {
			continue
		}
		object, err := scheme.New(known)
		if err != nil {
			return false
		}
		is, err := conversion.IsConvertible(scheme, object)
		return is && err == nil
	}
	return false
}

// WaitForCRDs waits until discovery shows every served version of CRDs.
//
// Errors: one that names the first resource that is still missing after options.MaxTime.
func WaitForCRDs(
	config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition,
	options CRDInstallOptions,
) error {
	c, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client for discovery: %w", err)
	}
	versions, plurals := servedResources(crds)
	max, interval := waitsOrDefault(options.MaxTime, options.PollInterval)
	const what = "waiting until the CRDs are served"
	return poll(context.Background(), interval, max, what, func(ctx context.Context) error {
		for len(versions) > 0 { // versions that were found aren't checked again
			found, err := c.ServerResourcesForGroupVersionWithContext(ctx, versions[0].String())
			if err != nil {
				return fmt.Errorf("%s: %w", versions[0], err)
			}
			for _, plural := range plurals[versions[0]] {
				if !slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool {
					return r.Name == plural
				}) {
					return fmt.Errorf("%s has no %s", versions[0], plural)
				}
			}
			versions = versions[1:]
		}
		return nil
	})
}

// servedResources returns the versions that CRDs serve, in the order of their first appearance, and
// the resources of each.
func servedResources(
	crds []*apiextensionsv1.CustomResourceDefinition,
) (versions []schema.GroupVersion, plurals map[schema.GroupVersion][]string) {
	plurals = map[schema.GroupVersion][]string{}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			served := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
			if plurals[served] == nil {
				versions = append(versions, served)
			}
			plurals[served] = append(plurals[served], crd.Spec.Names.Plural)
		}
	}
	return versions, plurals
}

// put creates an object, or updates the one of the same name, and fills in what the server adds. If
// another client writes it at the same time, put tries again.
func put(ctx context.Context, c client.Client, object client.Object) error {
	for {
		err := putOnce(ctx, c, object)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) || ctx.Err() != nil {
			return err
		}
	}
}

func putOnce(ctx context.Context, c client.Client, object client.Object) error {
	existing := object.DeepCopyObject().(client.Object)
	err := c.Get(ctx, client.ObjectKeyFromObject(object), existing)
	if err == nil && existing.GetDeletionTimestamp() != nil {
		// An update would succeed, but the object would be gone a moment later.
		if err := awaitEnd(ctx, c, existing); err != nil {
			return err
		}
		err = c.Get(ctx, client.ObjectKeyFromObject(object), existing)
	}
	switch {
	case apierrors.IsNotFound(err):
		object.SetResourceVersion("")
		object.SetUID("")
		return c.Create(ctx, object)
	case err != nil:
		return err
	}
	object.SetResourceVersion(existing.GetResourceVersion())
	object.SetUID(existing.GetUID())
	return c.Update(ctx, object)
}

func awaitEnd(ctx context.Context, c client.Client, dying client.Object) error {
	uid := dying.GetUID()
	const what = "waiting for the end of the one that is being deleted"
	return poll(ctx, defaultPollInterval, defaultMaxWait, what, func(ctx context.Context) error {
		now := dying.DeepCopyObject().(client.Object)
		err := c.Get(ctx, client.ObjectKeyFromObject(dying), now)
		switch {
		case client.IsAbsent(err, client.ObjectKeyFromObject(dying)),
			err == nil && now.GetUID() != uid:
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("it still has the finalizers %q", now.GetFinalizers())
	})
}
