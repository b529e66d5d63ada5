package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	webv1 "github.com/loopwright/loopwright/operator/api/v1"
	webv1alpha1 "github.com/loopwright/loopwright/operator/api/v1alpha1"
	"github.com/loopwright/loopwright/operator/internal/registrar"
)

// memory is a registrar. The mutex guards hosts.
type memory struct {
	token string

	mu    sync.Mutex
	hosts map[string]string
}

func (m *memory) Register(_ context.Context, host, site, token string) error {
	if token != m.token {
		return registrar.ErrRefused
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hosts[host] = site
	return nil
}

func (m *memory) Unregister(_ context.Context, host, token string) error {
	if token != m.token {
		return registrar.ErrRefused
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.hosts, host)
	return nil
}

func (m *memory) has(host string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hosts[host] != ""
}

func namespace(t *testing.T) string {
	t.Helper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "site-"}}
	if err := k8sClient.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	return made.Name
}

func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := k8sClient.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func tokenIn(namespace, token string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: webv1.DefaultTokenSecret},
		StringData: map[string]string{webv1.TokenKey: token}}
}

func site(namespace, name string, pages ...webv1.Page) *webv1.Site {
	return &webv1.Site{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: webv1.SiteSpec{Host: name + "." + namespace + ".example.com", Pages: pages}}
}

// isReady waits until a site is, and reads it.
func isReady(t *testing.T, s *webv1.Site) {
	t.Helper()
	eventually(t, func() error {
		if err := k8sClient.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		if s.Status.ObservedGeneration != s.Generation || !meta.IsStatusConditionTrue(s.Status.Conditions, webv1.ConditionReady) {
			return fmt.Errorf("site %s is not ready: %+v", s.Name, s.Status)
		}
		return nil
	})
}

func TestASiteIsPublishedRepairedAndGivenBack(t *testing.T) {
	ns := namespace(t)
	made := site(ns, "shop", webv1.Page{Name: "home", Body: "Welcome"}, webv1.Page{Name: "about", Body: "We sell."})
	create(t, tokenIn(ns, "secret"), made)
	isReady(t, made)
	if made.Spec.Theme != webv1.DefaultTheme || made.Spec.Pages[0].Name != "about" {
		t.Errorf("no defaults: %+v", made.Spec)
	}
	if !desk.has(made.Spec.Host) {
		t.Errorf("%s is not registered", made.Spec.Host)
	}
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop-home"}}
	if err := k8sClient.Delete(t.Context(), page); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return k8sClient.Get(t.Context(), client.ObjectKeyFromObject(page), page) })
	if !strings.Contains(page.Data["page.html"], "Welcome") || !metav1.IsControlledBy(page, made) {
		t.Errorf("the page came back as %+v", page)
	}
	if err := k8sClient.Delete(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		err := k8sClient.Get(t.Context(), client.ObjectKeyFromObject(made), made)
		if err == nil {
			return errors.New("the site is still there")
		}
		return client.IgnoreNotFound(err)
	})
	if desk.has(made.Spec.Host) {
		t.Error("the host was not given back")
	}
}

func TestASiteWaitsForItsToken(t *testing.T) {
	ns := namespace(t)
	made := site(ns, "early")
	create(t, made)
	waitFor := func(reason string) {
		t.Helper()
		eventually(t, func() error {
			if err := k8sClient.Get(t.Context(), client.ObjectKeyFromObject(made), made); err != nil {
				return err
			}
			condition := meta.FindStatusCondition(made.Status.Conditions, webv1.ConditionRegistered)
			if condition == nil || condition.Reason != reason {
				return fmt.Errorf("want %s, and have %+v", reason, condition)
			}
			return nil
		})
	}
	waitFor(webv1.ReasonTokenMissing)
	token := tokenIn(ns, "guessed")
	create(t, token)
	waitFor(webv1.ReasonRefused)
	token.StringData = map[string]string{webv1.TokenKey: "secret"}
	if err := k8sClient.Update(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	isReady(t, made)
}

func TestBothVersionsShowTheSameSite(t *testing.T) {
	ns := namespace(t)
	old := &webv1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "old"}, Spec: webv1alpha1.SiteSpec{
		Domain: "old.example.com", Content: map[string]string{"b": "second", "a": "first"}}}
	create(t, tokenIn(ns, "secret"), old)
	now := &webv1.Site{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "old"}}
	isReady(t, now)
	if now.Spec.Host != "old.example.com" || len(now.Spec.Pages) != 2 || now.Spec.Pages[0].Body != "first" {
		t.Errorf("as v1 it is %+v", now.Spec)
	}
	if err := k8sClient.Get(t.Context(), client.ObjectKeyFromObject(old), old); err != nil {
		t.Fatal(err)
	}
	if old.Spec.Content["b"] != "second" || old.Status.RegisteredDomain != "old.example.com" {
		t.Errorf("as v1alpha1 it is %+v, %+v", old.Spec, old.Status)
	}
}

func TestWhatCannotBePublishedIsRefused(t *testing.T) {
	ns := namespace(t)
	wrong := site(ns, "wrong", webv1.Page{Name: "empty", Body: " "})
	wrong.Spec.Host = "no spaces"
	err := k8sClient.Create(t.Context(), wrong)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.host") || !strings.Contains(err.Error(), "spec.pages[0].body") {
		t.Errorf("the answer is %v", err)
	}
	kept := site(ns, "kept")
	kept.Annotations = map[string]string{webv1.ProtectedAnnotation: "true"}
	create(t, kept)
	if err := k8sClient.Delete(t.Context(), kept); err == nil || !strings.Contains(err.Error(), "is protected") {
		t.Errorf("the answer is %v", err)
	}
}

// A rule that's newer than the site: the policy takes creates, and refuses the update that adds the finalizer.
func TestASiteThatARuleForbidsAfterwardsSaysSo(t *testing.T) {
	ns := namespace(t)
	name := "no-updates-in-" + ns
	invalid := metav1.StatusReasonInvalid
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{webv1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"sites"}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "no site looks like that any more", Reason: &invalid}},
		}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
	probe := site(ns, "probe")
	create(t, tokenIn(ns, "secret"), policy, binding, probe)
	t.Cleanup(func() {
		if err := errors.Join(k8sClient.Delete(context.Background(), binding), k8sClient.Delete(context.Background(), policy)); err != nil {
			t.Error(err)
		}
	})
	eventually(t, func() error { // a policy needs a moment
		change := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"at":"%d"}}}`, time.Now().UnixNano()))
		if err := k8sClient.Patch(t.Context(), probe, change); !apierrors.IsInvalid(err) {
			return fmt.Errorf("the answer to an update is %w", err)
		}
		return nil
	})

	made := site(ns, "late")
	create(t, made)
	eventually(t, func() error {
		if err := k8sClient.Get(t.Context(), client.ObjectKeyFromObject(made), made); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(made.Status.Conditions, webv1.ConditionPublished)
		if condition == nil || condition.Reason != webv1.ReasonInvalid || !strings.Contains(condition.Message, "no site looks like that any more") {
			return fmt.Errorf("the conditions are %+v", made.Status.Conditions)
		}
		var events eventsv1.EventList
		if err := k8sClient.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Regarding.Name == made.Name && event.Reason == webv1.ReasonInvalid {
				return nil
			}
		}
		return errors.New("there's no event yet")
	})
	if len(made.Finalizers) > 0 || desk.has(made.Spec.Host) {
		t.Errorf("it's registered, and nobody would give it back: %v", made.Finalizers)
	}
}
