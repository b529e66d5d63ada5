package claim

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
)

// Index is the field by which objects are found that an owner of a kind controls, and those that nobody controls.
//
// It has the owner's name and not its UID. So a controller can list what it has made before it reads the owner, and
// the wait for its own writes, which the list may have to make, does not make the owner old.
type Index struct {
	// Kind is the owners' kind. An object that something of another kind controls is not in the index.
	Kind schema.GroupKind
}

// Add adds the index for objects of a kind to a cache.
func (i Index) Add(ctx context.Context, to client.FieldIndexer, objects client.Object) error {
	return to.IndexField(ctx, objects, i.field(), i.values)
}

// Of selects what an owner of this name controls, or one that had the name before.
func (i Index) Of(name string) client.MatchingFields { return client.MatchingFields{i.field(): name} }

// Orphans selects what nobody controls.
func (i Index) Orphans() client.MatchingFields { return client.MatchingFields{i.field(): orphans} }

// orphans is no name that an owner can have.
const orphans = "-"

func (i Index) field() string { return "controller:" + i.Kind.String() }

func (i Index) values(object client.Object) []string {
	controller := metav1.GetControllerOfNoCopy(object)
	switch {
	case controller == nil:
		return []string{orphans}
	case controller.Kind == i.Kind.Kind && groupOf(controller.APIVersion) == i.Kind.Group:
		return []string{controller.Name}
	}
	return nil
}

func groupOf(apiVersion string) string {
	version, _ := schema.ParseGroupVersion(apiVersion) // empty with an error
	return version.Group
}
