// Bug: owners are looked for outside of all namespaces.
package handler

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/reconcile"
)

func ownerRequest(name, namespace string, scope meta.RESTScopeName) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}
