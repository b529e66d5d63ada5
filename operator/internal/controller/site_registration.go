package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	webv1 "github.com/loopwright/loopwright/operator/api/v1"
	"github.com/loopwright/loopwright/operator/internal/registrar"
)

// errTokenMissing says that there is no token (yet). To try again is no use: the watch of Secrets
// says when there is one.
var errTokenMissing = errors.New("the token is missing")

// register tells the registrar of the site, and of the end of a host that it had before.
func (r *SiteReconciler) register(ctx context.Context, site *webv1.Site) error {
	token, err := r.token(ctx, site)
	if errors.Is(err, errTokenMissing) {
		r.unregistered(site, webv1.ReasonTokenMissing, fmt.Sprintf("Secret %s has no %s", site.Spec.TokenSecret, webv1.TokenKey))
		return nil
	}
	if err != nil {
		return err
	}
	if old := site.Status.RegisteredHost; old != "" && old != site.Spec.Host {
		if err := r.unregister(ctx, site, old, token); err != nil {
			return r.failed(site, err)
		}
		site.Status.RegisteredHost = ""
	}
	err = r.Registrar.Register(ctx, site.Spec.Host, site.Namespace+"/"+site.Name, token)
	registrations.WithLabelValues("register", result(err)).Inc()
	if err != nil {
		return r.failed(site, err)
	}
	if site.Status.RegisteredHost != site.Spec.Host {
		r.Recorder.Eventf(site, nil, corev1.EventTypeNormal, "Registered", "Register", "Host %s is registered", site.Spec.Host)
	}
	site.Status.RegisteredHost = site.Spec.Host
	setCondition(site, metav1.Condition{Type: webv1.ConditionRegistered, Status: metav1.ConditionTrue, Reason: webv1.ReasonRegistered,
		Message: "Host " + site.Spec.Host + " is registered."})
	return nil
}

func (r *SiteReconciler) unregister(ctx context.Context, site *webv1.Site, host, token string) error {
	err := r.Registrar.Unregister(ctx, host, token)
	registrations.WithLabelValues("unregister", result(err)).Inc()
	if err != nil {
		return err
	}
	r.Recorder.Eventf(site, nil, corev1.EventTypeNormal, "Unregistered", "Register", "Host %s is given back", host)
	return nil
}

// failed writes down that the registrar did not do it. Another token may help, and comes as an event; against
// everything else helps to try again, so that is an error.
func (r *SiteReconciler) failed(site *webv1.Site, err error) error {
	if errors.Is(err, registrar.ErrRefused) {
		r.unregistered(site, webv1.ReasonRefused, "The registrar does not accept the token")
		return nil
	}
	r.unregistered(site, webv1.ReasonUnavailable, "The registrar cannot be reached, or fails")
	return err
}

func (r *SiteReconciler) unregistered(site *webv1.Site, reason, message string) {
	setCondition(site, metav1.Condition{Type: webv1.ConditionRegistered, Status: metav1.ConditionFalse, Reason: reason, Message: message + "."})
	r.Recorder.Eventf(site, nil, corev1.EventTypeWarning, reason, "Register", "%s", message)
}

func (r *SiteReconciler) token(ctx context.Context, site *webv1.Site) (string, error) {
	var secret corev1.Secret
	err := r.Get(ctx, client.ObjectKey{Namespace: site.Namespace, Name: site.Spec.TokenSecret}, &secret)
	if apierrors.IsNotFound(err) || err == nil && len(secret.Data[webv1.TokenKey]) == 0 {
		return "", errTokenMissing
	}
	return string(secret.Data[webv1.TokenKey]), err
}
