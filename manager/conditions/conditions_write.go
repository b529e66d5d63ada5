package conditions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
)

// Write writes what has changed in the status of an object since it was copied, in one patch of
// the status, and reports whether there was anything to write. If there was not, it sends nothing.
//
//	before := site.DeepCopy()
//	conditions.Set(site, &site.Status.Conditions, ...) // as often as you like
//	_, err := conditions.Write(ctx, c, before, site)
//
// Guarantees: what differs outside of the status is not sent. If the object in the cluster is not
// the one that before was, the answer is a conflict: a list of conditions is replaced as a whole, and those
// that others have written in between would be lost.
//
// Caveats: after a patch, object is what the server has answered, all of it. So write what else you
// have changed before, and take the copy after that.
//
// Errors: those of the client. After a conflict, read the object again, as the next reconcile does.
func Write(ctx context.Context, c client.Client, before, object client.Object) (written bool, err error) {
	data, err := statusPatch(before, object)
	if data == nil {
		return false, err
	}
	if err := c.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, data)); err != nil {
		return false, fmt.Errorf("write the status of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	return true, nil
}

// statusPatch is a merge patch of what differs in the status, with the version that it starts from;
// nil if nothing does.
func statusPatch(before, object client.Object) ([]byte, error) {
	version := before.GetResourceVersion()
	if version == "" {
		return nil, fmt.Errorf("write the status of %s: the object was not read from the cluster, as it has no resourceVersion", client.ObjectKeyFromObject(object))
	}
	was, err := statusOf(before)
	is, err2 := statusOf(object)
	difference, err3 := jsonpatch.CreateMergePatch(was, is)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, fmt.Errorf("write the status of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	if string(difference) == "{}" {
		return nil, nil
	}
	return fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},%s`, version, difference[1:]), nil
}

// statusOf is the object as JSON, without all but the status.
func statusOf(object client.Object) ([]byte, error) {
	var half struct {
		Status json.RawMessage `json:"status,omitempty"`
	}
	whole, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(whole, &half)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(half)
}
