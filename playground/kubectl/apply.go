package kubectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// apply makes the objects in the input what it says: it creates them, or patches what differs
// between what was applied before, what is to be, and what there is.
func apply(ctx context.Context, c *call) error {
	if c.filename != "-" {
		return errors.New("must specify one of -f and -k: here, only -f -, which is the text box")
	}
	documents := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(c.input), 4096)
	found := false
	var failed []error
	for {
		u := &unstructured.Unstructured{}
		err := documents.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("error parsing STDIN: %w", err)
		}
		if len(u.Object) == 0 {
			continue
		}
		found = true
		if err := c.applyOne(ctx, u); err != nil {
			failed = append(failed, said(err))
		}
	}
	if !found {
		return errors.New("no objects passed to apply")
	}
	return join(failed)
}

func (c *call) applyOne(ctx context.Context, u *unstructured.Unstructured) error {
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		return fmt.Errorf(
			"error validating \"STDIN\": error validating data: apiVersion or kind not set",
		)
	}
	var k *kind
	for _, known := range kinds {
		if u.GetAPIVersion() == known.resource().GroupVersion().String() &&
			u.GetKind() == known.name {
			k = known
		}
	}
	if k == nil {
		return fmt.Errorf(
			"resource mapping not found for name: %q namespace: %q from \"STDIN\": no matches for kind %q in version %q",
			u.GetName(),
			u.GetNamespace(),
			u.GetKind(),
			u.GetAPIVersion(),
		)
	}
	if u.GetName() == "" {
		return errors.New(
			"error when retrieving current configuration: resource name may not be empty",
		)
	}
	here := *c
	if u.GetNamespace() != "" {
		here.namespace = u.GetNamespace()
	}
	was, err := here.on(k).Get(ctx, u.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	modified, err := remember(u)
	if err != nil {
		return err
	}
	if was == nil {
		if _, err := here.on(k).Create(ctx, u, metav1.CreateOptions{}); err != nil {
			return err
		}
		return c.say("%s/%s created", k.full(), u.GetName())
	}
	patch, err := threeWay(k, was, modified)
	if err != nil {
		return err
	}
	if string(patch) == "{}" {
		return c.say("%s/%s unchanged", k.full(), u.GetName())
	}
	if _, err := here.on(k).Patch(ctx, u.GetName(), types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	return c.say("%s/%s configured", k.full(), u.GetName())
}

// remember writes into the object what it was, for the next apply, and returns its text.
func remember(u *unstructured.Unstructured) ([]byte, error) {
	text, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(text) + "\n"
	u.SetAnnotations(annotations)
	return json.Marshal(u.Object)
}

func threeWay(k *kind, was *unstructured.Unstructured, modified []byte) ([]byte, error) {
	current, err := json.Marshal(was.Object)
	if err != nil {
		return nil, err
	}
	model, err := scheme.Scheme.New(k.resource().GroupVersion().WithKind(k.name))
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(model)
	if err != nil {
		return nil, err
	}
	original := []byte(was.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	return strategicpatch.CreateThreeWayMergePatch(original, modified, current, meta, true)
}
