package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	webv1 "github.com/loopwright/loopwright/operator/api/v1"
)

// publish makes a ConfigMap of each page, and removes those of pages that are gone.
func (r *SiteReconciler) publish(ctx context.Context, site *webv1.Site) error {
	wanted := map[string]bool{}
	for _, page := range site.Spec.Pages {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name + "-" + page.Name}}
		wanted[config.Name] = true
		did, err := ctrl.CreateOrUpdate(ctx, r.Client, config, func() error {
			if config.Labels == nil {
				config.Labels = map[string]string{}
			}
			config.Labels[webv1.SiteLabel] = site.Name
			config.Data = map[string]string{"theme": site.Spec.Theme, "page.html": "<h1>" + page.Name + "</h1>\n" + page.Body}
			return ctrl.SetControllerReference(site, config, r.Scheme())
		})
		if err != nil {
			return fmt.Errorf("publishing page %s: %w", page.Name, err)
		}
		if did != controllerutil.OperationResultNone {
			r.Recorder.Eventf(site, config, corev1.EventTypeNormal, "PageWritten", "Publish", "Page %s is %s", page.Name, did)
		}
	}
	if err := r.unpublish(ctx, site, wanted); err != nil {
		return err
	}
	site.Status.Pages = int32(len(site.Spec.Pages))
	sitePages.WithLabelValues(site.Namespace, site.Name).Set(float64(len(site.Spec.Pages)))
	setCondition(site, metav1.Condition{Type: webv1.ConditionPublished, Status: metav1.ConditionTrue, Reason: webv1.ReasonPublished,
		Message: fmt.Sprintf("%d pages are published.", len(site.Spec.Pages))})
	return nil
}

func (r *SiteReconciler) unpublish(ctx context.Context, site *webv1.Site, wanted map[string]bool) error {
	var configs corev1.ConfigMapList
	if err := r.List(ctx, &configs, client.InNamespace(site.Namespace), client.MatchingLabels{webv1.SiteLabel: site.Name}); err != nil {
		return err
	}
	for i := range configs.Items {
		config := &configs.Items[i]
		if wanted[config.Name] || !metav1.IsControlledBy(config, site) || config.DeletionTimestamp != nil {
			continue
		}
		err := r.Delete(ctx, config, client.Preconditions{UID: &config.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing page %s: %w", config.Name, err)
		}
		if err == nil {
			r.Recorder.Eventf(site, config, corev1.EventTypeNormal, "PageRemoved", "Publish", "ConfigMap %s is removed", config.Name)
		}
	}
	return nil
}
