// Command forbidden-list has a controller that gives each Deployment a Secret. Its user may create
// Secrets, but not list and watch them, so the controller never starts.
package main

import (
	"context"
	"crypto/rand"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/examples/internal/run"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func main() { run.Main("forbidden-list", forbiddenList) }

func forbiddenList(ctx context.Context, p run.Program) error {
	const user = "system:serviceaccount:forbidden-list:passwords"
	if err := allow(ctx, p, user); err != nil {
		return err
	}
	p.Config = rest.CopyConfig(p.Config)
	p.Config.Impersonate.UserName = user
	mgr, err := p.Manager(ctx, "forbidden-list", ctrl.Options{})
	if err != nil {
		return err
	}
	c := mgr.GetClient()
	err = errors.Join(
		ctrl.NewControllerManagedBy(mgr).Named("passwords").For(&appsv1.Deployment{}).
			Owns(&corev1.Secret{}).Complete(reconcile.AsReconciler(c, keeper{c})),
		p.Make(ctx, p.Deployment("web")))
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// allow is what the file role.yaml is in other programs.
func allow(ctx context.Context, p run.Program, user string) error {
	secrets := []string{"create"}
	// region mended
	if p.Mended {
		secrets = append(secrets, "list", "watch")
	}
	// endregion mended
	role := &rbacv1.Role{ObjectMeta: p.Meta("passwords")}
	_, err := ctrl.CreateOrUpdate(ctx, p.User, role, func() error {
		role.Rules = []rbacv1.PolicyRule{
			{
				APIGroups: []string{"apps"}, Resources: []string{"deployments"},
				Verbs: []string{"list", "watch"},
			},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: secrets},
		}
		return nil
	})
	return errors.Join(err, p.Make(ctx, &rbacv1.RoleBinding{
		ObjectMeta: p.Meta("passwords"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "passwords"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}))
}

type keeper struct{ client.Client }

func (k keeper) Reconcile(
	ctx context.Context, deployment *appsv1.Deployment,
) (reconcile.Result, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: deployment.Namespace, Name: deployment.Name,
	}, StringData: map[string]string{"password": rand.Text()}}
	err := ctrl.SetControllerReference(deployment, secret, k.Scheme())
	if err == nil {
		err = client.IgnoreAlreadyExists(k.Create(ctx, secret))
	}
	return reconcile.Result{}, err
}
