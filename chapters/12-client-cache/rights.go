package main

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// rights gives a ServiceAccount a little, and lets it read more.
func (s *stage) rights(ctx context.Context) error {
	if err := s.letVisitorIn(ctx); err != nil {
		return err
	}
	visitor := s.config()
	visitor.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + s.Namespace + ":visitor"}
	quiet := cache.Options{DefaultWatchErrorHandler: func(error) {}}
	here, c, err := s.open(ctx, visitor, quiet, client.CacheOptions{})
	if err != nil {
		return err
	}
	// A right counts a moment after it was granted.
	if err := s.until(ctx, "the rights of the visitor", func(ctx context.Context) error { return c.Get(ctx, s.key("apple"), &corev1.ConfigMap{}) }); err != nil {
		return err
	}
	s.Say("The visitor may read ConfigMaps in this namespace, and a cache of this namespace works:")
	var found corev1.ConfigMapList
	if err := c.List(ctx, &found, client.MatchingLabels{"story": "none"}); err != nil {
		return err
	}
	s.Say("  WaitForCacheSync: %t", here.WaitForCacheSync(ctx))

	quiet.DefaultNamespaces = map[string]cache.Config{cache.AllNamespaces: {}}
	everywhere, c, err := s.open(ctx, visitor, quiet, client.CacheOptions{})
	if err != nil {
		return err
	}
	s.Say("A cache of all namespaces does not. The first read fails at once, and says what is missing:")
	err = c.Get(ctx, s.key("apple"), &corev1.ConfigMap{})
	s.Say("  %s", strings.NewReplacer(": this client", ":\n  #   this client", ", bind it", ",\n  #   bind it", ": watching", ":\n  #   watching").Replace(errorText(err)))
	var refused *informer.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	s.Say("An admin grants it. The informer has not given up:")
	if err := s.letVisitorReadAnywhere(ctx); err != nil {
		return err
	}
	if err := cache.WaitForSync(ctx, everywhere); err != nil {
		return err
	}
	s.Say("  WaitForCacheSync: %t", everywhere.WaitForCacheSync(ctx))
	return c.Get(ctx, s.key("apple"), &corev1.ConfigMap{})
}

func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

var readConfigMaps = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}}}

func (s *stage) visitor() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.Namespace, Name: "visitor"}}
}

func (s *stage) letVisitorIn(ctx context.Context) error {
	return errors.Join(
		s.users.Create(ctx, &corev1.ServiceAccount{ObjectMeta: s.meta("visitor")}),
		s.users.Create(ctx, &rbacv1.Role{ObjectMeta: s.meta("visitor"), Rules: readConfigMaps}),
		s.users.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: s.meta("visitor"), Subjects: s.visitor(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "visitor"}}),
	)
}

// readAnywhere and visitorReadsAnywhere have names of this demo's own: they are in no namespace.
func (s *stage) readAnywhere() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-visitor"}, Rules: readConfigMaps}
}

func (s *stage) visitorReadsAnywhere() *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-visitor"}, Subjects: s.visitor(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.Namespace + "-visitor"}}
}

func (s *stage) letVisitorReadAnywhere(ctx context.Context) error {
	for _, object := range []client.Object{s.readAnywhere(), s.visitorReadsAnywhere()} {
		object, err := s.owned(ctx, object)
		if err != nil {
			return err
		}
		if err := s.users.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}
