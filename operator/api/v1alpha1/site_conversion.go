package v1alpha1

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/conversion"

	webv1 "github.com/loopwright/loopwright/operator/api/v1"
)

// ConvertTo makes a v1 of this. Pages have an order there: that of their names.
func (s *Site) ConvertTo(hub conversion.Hub) error {
	to, ok := hub.(*webv1.Site)
	if !ok {
		return fmt.Errorf("a site cannot become a %T", hub)
	}
	to.ObjectMeta = s.ObjectMeta
	to.Spec = webv1.SiteSpec{Host: s.Spec.Domain, Theme: s.Spec.Theme, TokenSecret: s.Spec.TokenSecret}
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Content)) {
		to.Spec.Pages = append(to.Spec.Pages, webv1.Page{Name: name, Body: s.Spec.Content[name]})
	}
	to.Status = webv1.SiteStatus{
		ObservedGeneration: s.Status.ObservedGeneration, Pages: s.Status.Pages,
		RegisteredHost: s.Status.RegisteredDomain, Conditions: s.Status.Conditions,
	}
	return nil
}

// ConvertFrom makes this of a v1.
func (s *Site) ConvertFrom(hub conversion.Hub) error {
	from, ok := hub.(*webv1.Site)
	if !ok {
		return fmt.Errorf("a %T cannot become a site", hub)
	}
	s.ObjectMeta = from.ObjectMeta
	s.Spec = SiteSpec{Domain: from.Spec.Host, Theme: from.Spec.Theme, TokenSecret: from.Spec.TokenSecret}
	for _, page := range from.Spec.Pages {
		if s.Spec.Content == nil {
			s.Spec.Content = map[string]string{}
		}
		s.Spec.Content[page.Name] = page.Body
	}
	s.Status = SiteStatus{
		ObservedGeneration: from.Status.ObservedGeneration, Pages: from.Status.Pages,
		RegisteredDomain: from.Status.RegisteredHost, Conditions: from.Status.Conditions,
	}
	return nil
}
