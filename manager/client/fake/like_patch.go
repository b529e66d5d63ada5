package fake

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// Patch implements client.Writer.
func (c *likeClient) Patch(
	_ context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	return c.patch(obj, patch, false, opts...)
}

func (c *likeClient) patch(
	obj client.Object, patch client.Patch, status bool, opts ...client.PatchOption,
) error {
	if err := c.meet(obj); err != nil {
		return err
	}
	if anyvalue.IsNil(patch) {
		return errors.New("the patch is nil")
	}
	options := &client.PatchOptions{}
	options.ApplyOptions(opts)
	raw := options.AsPatchOptions()
	if errs := validation.ValidatePatchOptions(raw, patch.Type()); len(errs) > 0 {
		return apierrors.NewInvalid(
			schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "", errs)
	}
	if isDry(options.DryRun) { // as Patch has them; Apply's are in raw, and it stores all the same
		return nil
	}
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return err
	}
	going, err := c.beforePatch(gvk, obj, patch.Type() == types.ApplyPatchType)
	if err != nil {
		return err
	}
	data, err := patch.Data(obj) // is the user's code, and may call the client
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := likeWrite{gvk: gvk, namespace: obj.GetNamespace(), status: status, patch: true,
		manager: raw.FieldManager}
	var out runtime.Object
	if patch.Type() == types.ApplyPatchType {
		out, err = c.patchByApplyLocked(w, obj.GetName(), data, ptr.Deref(raw.Force, false))
		if apierrors.IsNotFound(err) && going && len(obj.GetFinalizers()) == 0 {
			return nil // the apply has ended it
		}
	} else {
		out, err = c.patchByContentLocked(w, obj.GetName(), patch.Type(), data)
	}
	if err != nil {
		return err
	}
	return c.show(out, gvk, obj)
}

// beforePatch looks for the object. An apply may create it, and the caller's object gets the fields
// that an apply can't change. going says that the stored object is being deleted.
func (c *likeClient) beforePatch(
	gvk schema.GroupVersionKind, obj client.Object, applies bool,
) (going bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, err := c.store.get(gvrOf(gvk), client.ObjectKeyFromObject(obj))
	switch {
	case !applies:
		return false, err
	case err != nil:
		obj.SetResourceVersion(c.store.version("1"))
		return false, nil
	}
	stamp := old.(metav1.Object).GetDeletionTimestamp()
	obj.SetDeletionTimestamp(stamp)
	return stamp != nil, nil
}

// patchByContentLocked carries out the patches that edit a document.
func (c *likeClient) patchByContentLocked(
	w likeWrite, name string, kind types.PatchType, data []byte,
) (runtime.Object, error) {
	old, err := c.store.get(gvrOf(w.gvk), client.ObjectKey{Namespace: w.namespace, Name: name})
	if err != nil {
		return nil, err
	}
	if w.obj, err = patched(old, kind, data); err != nil {
		return nil, err
	}
	stamp := w.obj.(metav1.Object).GetDeletionTimestamp()
	if !sameMoment(stamp, old.(metav1.Object).GetDeletionTimestamp()) {
		return nil, errors.New("rejected patch, metadata.deletionTimestamp immutable")
	}
	w.mayCreate = mayCreate(w.gvk)
	return w.obj, c.writeLocked(w)
}

// patched returns the object that a patch makes of old, in the same Go type.
func patched(old runtime.Object, kind types.PatchType, data []byte) (runtime.Object, error) {
	document, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	out := reflect.New(reflect.TypeOf(old).Elem()).Interface().(runtime.Object)
	switch kind {
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(data); err == nil {
			document, err = operations.Apply(document)
		}
	case types.MergePatchType:
		document, err = jsonpatch.MergePatch(document, data)
	case types.StrategicMergePatchType:
		document, err = strategicpatch.StrategicMergePatch(document, data, out)
	default:
		err = fmt.Errorf("patches of type %q are not supported", kind)
	}
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(document, out)
}

func (c *likeClient) patchByApplyLocked(
	w likeWrite, name string, data []byte, force bool,
) (runtime.Object, error) {
	config := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal(data, &config.Object); err != nil {
		return nil, err
	}
	config.SetName(name)
	w.obj, w.mayCreate = config, true
	if err := c.applyLocked(w, force); err != nil {
		return nil, err
	}
	return c.store.get(gvrOf(w.gvk), client.ObjectKey{Namespace: w.namespace, Name: name})
}

func (c *likeClient) applyLocked(w likeWrite, force bool) error {
	said := w.obj.GetObjectKind().GroupVersionKind()
	next, becomes, err := c.reviseLocked(w)
	if err != nil || becomes == ends {
		return err
	}
	gvr, m := gvrOf(w.gvk), w.obj.(metav1.Object)
	if becomes == begins {
		if m.GetUID() != "" {
			return apierrors.NewConflict(gvr.GroupResource(), m.GetName(), fmt.Errorf(
				"uid mismatch: the provided object specified uid %s, and no existing object "+
					"was found",
				m.GetUID()))
		}
		if c.isSeparate(said) {
			next.(*unstructured.Unstructured).Object["status"] = nil
		}
	}
	if w.status { // the rest is the stored object's, which may not say its kind
		setKind(next, said)
	}
	owners, err := c.kinds.fieldsOf(w.gvk)
	if err != nil {
		return err
	}
	live, found, err := c.liveLocked(w.gvk, client.ObjectKey{Namespace: w.namespace,
		Name: next.(metav1.Object).GetName()})
	if err != nil {
		return err
	}
	if next, err = owners.Apply(live, next, w.manager, force); err != nil {
		return err
	}
	if found {
		return c.store.replace(gvr, next, w.namespace)
	}
	return c.store.create(gvr, next, w.namespace)
}

// Apply implements client.Writer.
func (c *likeClient) Apply(
	_ context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption,
) error {
	options := &client.ApplyOptions{}
	options.ApplyOptions(opts)
	obj, err := asUnstructured(config)
	if err != nil {
		return err
	}
	raw := &client.PatchOptions{Raw: options.AsPatchOptions()}
	if err := c.patch(obj, wholeObject{}, false, raw); err != nil {
		return err
	}
	return answer(obj, config)
}

func asUnstructured(config runtime.ApplyConfiguration) (*unstructured.Unstructured, error) {
	if anyvalue.IsNil(config) {
		return nil, fmt.Errorf("what is to be applied is nil (%T)", config)
	}
	obj := &unstructured.Unstructured{}
	document, err := json.Marshal(config)
	if err == nil {
		err = json.Unmarshal(document, obj)
	}
	if err != nil {
		return nil, fmt.Errorf("encode the configuration to apply, a %T: %w", config, err)
	}
	return obj, nil
}

// answer writes an object into the configuration that was applied.
func answer(from any, config runtime.ApplyConfiguration) error {
	document, err := json.Marshal(from)
	if err != nil {
		return err
	}
	if u, ok := config.(runtime.Unstructured); ok {
		u.SetUnstructuredContent(nil)
	} else {
		clearOut(config)
	}
	return json.Unmarshal(document, config)
}

// wholeObject applies everything in an object.
type wholeObject struct{}

// Type implements client.Patch.
func (wholeObject) Type() types.PatchType { return types.ApplyPatchType }

// Data implements client.Patch.
func (wholeObject) Data(obj client.Object) ([]byte, error) { return json.Marshal(obj) }
