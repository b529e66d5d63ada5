// Bug: owners with and without namespace are mixed up.
package handler

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/reconcile"
)

func ownerRequest(name, namespace string, scope meta.RESTScopeName) reconcile.Request {
	if scope != meta.RESTScopeNameRoot {
		namespace = ""
	}
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}
