// Bug: an owner without namespace is looked for in one.
package handler

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/reconcile"
)

func ownerRequest(name, namespace string, scope meta.RESTScopeName) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}
