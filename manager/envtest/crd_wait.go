package envtest

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// WaitForCRDs waits until discovery shows every served version of CRDs.
//
// Errors: one that names the first resource that is missing after options.MaxTime.
func WaitForCRDs(config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition, options CRDInstallOptions) error {
	c, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client for discovery: %w", err)
	}
	versions, plurals := servedResources(crds)
	max, interval := waitsOrDefault(options.MaxTime, options.PollInterval)
	return poll(context.Background(), interval, max, "waiting until the CRDs are served", func(ctx context.Context) error {
		for len(versions) > 0 { // those that were found need no second look
			found, err := c.ServerResourcesForGroupVersionWithContext(ctx, versions[0].String())
			if err != nil {
				return fmt.Errorf("%s: %w", versions[0], err)
			}
			for _, plural := range plurals[versions[0]] {
				if !slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Name == plural }) {
					return fmt.Errorf("%s has no %s", versions[0], plural)
				}
			}
			versions = versions[1:]
		}
		return nil
	})
}

// servedResources returns the versions that CRDs serve, in the order in which they come first, and
// for each of them the resources.
func servedResources(crds []*apiextensionsv1.CustomResourceDefinition) (versions []schema.GroupVersion, plurals map[schema.GroupVersion][]string) {
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
