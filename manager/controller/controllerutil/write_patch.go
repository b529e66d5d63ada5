package controllerutil

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
)

// CreateOrPatch reads the object into obj, lets f change it, and sends the difference: changes of
// the status to the status, and all others to the object. If the object doesn't exist, f changes
// obj as it is, and the result is created.
//
// Guarantees: fields that f doesn't touch aren't in a patch. If f makes no difference, nothing is
// written.
//
// Caveats: as for CreateOrUpdate, except that the status is written, too. A new object's isn't,
// because the server ignores it: call CreateOrPatch again after OperationResultCreated. The patches
// are merge patches without a lock, so a list that differs is replaced as a whole, together with
// what others have added to it since the read. If that can happen, with finalizers for instance,
// use CreateOrUpdate.
//
// Errors: the client's and f's. If the second of two patches fails, the result is
// OperationResultUpdated.
func CreateOrPatch(
	ctx context.Context, c client.Client, obj client.Object, f MutateFn,
) (OperationResult, error) {
	found, err := readOrCreate(ctx, c, obj, f)
	if err != nil {
		return OperationResultNone, err
	}
	if !found {
		return OperationResultCreated, nil
	}
	was := obj.DeepCopyObject().(client.Object)
	if err := mutate(obj, f); err != nil {
		return OperationResultNone, err
	}
	if reflect.DeepEqual(was, obj) {
		return OperationResultNone, nil // nearly every time, and without the maps below
	}
	before, err := halvesOf(was)
	after, err2 := halvesOf(obj)
	if err := errors.Join(err, err2); err != nil {
		return OperationResultNone, err
	}
	return patchHalves(ctx, c, was, obj, before, after)
}

// patchHalves sends the differences in no, one or two patches. As in controller-runtime, the first
// one includes the status: the server ignores it, unless the kind has no status subresource.
func patchHalves(
	ctx context.Context, c client.Client, was, obj client.Object, before, after halves,
) (OperationResult, error) {
	result := OperationResultNone
	newStatus := !reflect.DeepEqual(before.status, after.status)
	if !reflect.DeepEqual(before.rest, after.rest) {
		if err := c.Patch(ctx, obj, client.MergeFrom(was)); err != nil {
			return result, err
		}
		result = OperationResultUpdated
		if newStatus {
			// The answer to the first patch has the old status.
			if err := after.restoreStatus(obj); err != nil {
				return result, err
			}
		}
	}
	if !newStatus {
		return result, nil
	}
	statuses, err := statusPatch(before, after)
	if err != nil {
		return result, err
	}
	if err := c.Status().Patch(ctx, obj, statuses); err != nil {
		return result, err
	}
	if result == OperationResultUpdated {
		return OperationResultUpdatedStatus, nil
	}
	return OperationResultUpdatedStatusOnly, nil
}

// statusPatch has f's changes to the status. In controller-runtime it's the difference between the
// object as it was read and the server's answer to the first patch. That also has another
// resourceVersion, so the patch is a conflict if anybody writes the object in between, and it has
// whatever others have changed.
func statusPatch(before, after halves) (client.Patch, error) {
	old, err := before.statusJSON()
	if err != nil {
		return nil, err
	}
	current, err := after.statusJSON()
	if err != nil {
		return nil, err
	}
	data, err := jsonpatch.CreateMergePatch(old, current)
	return client.RawPatch(types.MergePatchType, data), err
}

// halves are an object's status, and all the rest. The server writes them separately.
type halves struct {
	rest   map[string]any
	status any // nil if there's none
}

// halvesOf copies the object first, because an unstructured object is its own map and would be cut
// in halves itself. controller-runtime does that, and then writes an object without a status.
func halvesOf(obj client.Object) (halves, error) {
	whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj.DeepCopyObject())
	if err != nil {
		return halves{}, err
	}
	h := halves{rest: whole, status: whole["status"]}
	delete(whole, "status")
	return h, nil
}

// statusJSON returns an object that has only the status.
func (h halves) statusJSON() ([]byte, error) {
	whole := map[string]any{}
	if h.status != nil {
		whole["status"] = h.status
	}
	return json.Marshal(whole)
}

// restoreStatus puts the status into the object.
func (h halves) restoreStatus(obj client.Object) error {
	whole, err := halvesOf(obj)
	if err != nil {
		return err
	}
	if h.status != nil {
		whole.rest["status"] = h.status
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(whole.rest, obj)
}
