// Package webhook has the admission webhooks of sites.
package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	webv1 "github.com/loopwright/loopwright/operator/api/v1"
)

// SetupSiteWebhooks registers the webhooks of sites. That of the conversion is among them, because v1 is a hub.
func SetupSiteWebhooks(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &webv1.Site{}).
		WithDefaulter(&siteDefaulter{}).
		WithValidator(&siteValidator{}).
		Complete()
}

// +kubebuilder:webhook:path=/mutate-web-example-com-v1-site,mutating=true,failurePolicy=fail,sideEffects=None,groups=web.example.com,resources=sites,verbs=create;update,versions=v1,name=msite.web.example.com,admissionReviewVersions=v1

type siteDefaulter struct{}

var _ admission.Defaulter[*webv1.Site] = &siteDefaulter{}

// Default fills in what a site may leave out, and sorts its pages, so that a conversion and back changes nothing.
func (*siteDefaulter) Default(ctx context.Context, site *webv1.Site) error {
	logf.FromContext(ctx).V(1).Info("setting defaults", "site", site.Name)
	if site.Spec.Theme == "" {
		site.Spec.Theme = webv1.DefaultTheme
	}
	if site.Spec.TokenSecret == "" {
		site.Spec.TokenSecret = webv1.DefaultTokenSecret
	}
	slices.SortStableFunc(site.Spec.Pages, func(a, b webv1.Page) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// +kubebuilder:webhook:path=/validate-web-example-com-v1-site,mutating=false,failurePolicy=fail,sideEffects=None,groups=web.example.com,resources=sites,verbs=create;update;delete,versions=v1,name=vsite.web.example.com,admissionReviewVersions=v1

type siteValidator struct{}

var _ admission.Validator[*webv1.Site] = &siteValidator{}

// ValidateCreate refuses what cannot be published.
func (v *siteValidator) ValidateCreate(_ context.Context, site *webv1.Site) (admission.Warnings, error) {
	return v.validate(site)
}

// ValidateUpdate refuses the same, but not for a site that is on its way out: its finalizer must go.
func (v *siteValidator) ValidateUpdate(_ context.Context, _, site *webv1.Site) (admission.Warnings, error) {
	if site.DeletionTimestamp != nil {
		return nil, nil
	}
	return v.validate(site)
}

// ValidateDelete refuses to delete what is protected.
func (*siteValidator) ValidateDelete(_ context.Context, site *webv1.Site) (admission.Warnings, error) {
	if site.Annotations[webv1.ProtectedAnnotation] == "true" {
		return nil, fmt.Errorf("site %s is protected: remove the annotation %s first", site.Name, webv1.ProtectedAnnotation)
	}
	return nil, nil
}

func (*siteValidator) validate(site *webv1.Site) (warnings admission.Warnings, err error) {
	var problems field.ErrorList
	host := field.NewPath("spec", "host")
	for _, message := range validation.IsDNS1123Subdomain(site.Spec.Host) {
		problems = append(problems, field.Invalid(host, site.Spec.Host, message))
	}
	for i, page := range site.Spec.Pages {
		if strings.TrimSpace(page.Body) == "" {
			problems = append(problems, field.Required(field.NewPath("spec", "pages").Index(i).Child("body"), "a page has something to show"))
		}
	}
	if len(site.Spec.Pages) == 0 {
		warnings = append(warnings, "a site without pages has nothing to show")
	}
	if len(problems) > 0 {
		return warnings, apierrors.NewInvalid(webv1.GroupVersion.WithKind("Site").GroupKind(), site.Name, problems)
	}
	return warnings, nil
}
