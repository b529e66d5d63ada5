// Package names has a test that looks at what it runs on.
package names

import (
	"reflect"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
)

func TestPath(t *testing.T) {
	if path := reflect.TypeFor[ctrl.Result]().PkgPath(); path != "sigs.k8s.io/controller-runtime/pkg/reconcile" {
		t.Error("it is in", path)
	}
}
