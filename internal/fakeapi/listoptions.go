package fakeapi

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listOptions are the options of a list or watch, checked and understood.
type listOptions struct {
	internalversion.ListOptions
	selection
	// rv is the resourceVersion as a number; 0 if it is unset or "0".
	rv uint64
}

// parseListOptions reads the query of a list or watch. watchList says whether
// the server knows sendInitialEvents, and sharded whether it knows shards.
func parseListOptions(res *resource, r Request, watchList, sharded bool) (listOptions, error) {
	var out listOptions
	if err := internalscheme.ParameterCodec.DecodeParameters(r.Query, metav1.SchemeGroupVersion, &out.ListOptions); err != nil {
		return out, apierrors.NewBadRequest(err.Error())
	}
	internalversion.SetListOptionsDefaults(&out.ListOptions, watchList)
	if errs := validation.ValidateListOptions(&out.ListOptions, watchList); len(errs) > 0 {
		return out, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	if err := out.parseVersion(); err != nil {
		return out, err
	}
	if err := out.selectFields(res); err != nil {
		return out, err
	}
	if sharded && out.ShardSelector != "" {
		var err error
		if out.shard, err = parseShard(out.ShardSelector); err != nil {
			return out, fmt.Errorf("invalid shard selector: %w", err) // a 500, as from the real server
		}
	}
	out.labels = out.LabelSelector
	if out.labels == nil {
		out.labels = labels.Everything()
	}
	namespace := r.Namespace
	if namespace == "" && !res.ClusterScoped {
		// A selector for one namespace is as good as the namespace itself.
		namespace, _ = out.fields.RequiresExactMatch("metadata.namespace")
	}
	if namespace != "" {
		out.prefix = namespace + "/"
	}
	return out, nil
}

func (o *listOptions) parseVersion() error {
	if o.ResourceVersion == "" {
		return nil
	}
	rv, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
	if err == nil {
		o.rv = rv
		return nil
	}
	err = fmt.Errorf("resourceVersion: Invalid value: %q: %w", o.ResourceVersion, err)
	if o.Watch {
		return err // a 500, as from the real server
	}
	return apierrors.NewBadRequest("invalid resource version: " + err.Error())
}

// selectFields checks the field selector against what the kind knows.
func (o *listOptions) selectFields(res *resource) error {
	o.fields = o.FieldSelector
	if o.fields == nil {
		o.fields = fields.Everything()
	}
	for _, requirement := range o.fields.Requirements() {
		if err := res.checkField(requirement.Field); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	return nil
}

func (r *resource) checkField(name string) error {
	known := r.knownFields
	if known == nil {
		known = []string{"metadata.name", "metadata.namespace"}
	}
	switch {
	case slices.Contains(known, name):
		return nil
	case r.badField != "":
		return fmt.Errorf(r.badField, name)
	}
	return fmt.Errorf("%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", name)
}

// pageable is the limit that applies. With resourceVersion "0" there is none:
// the real server answers such a list from its cache, in one piece.
func (o *listOptions) pageable() int64 {
	if o.ResourceVersion == "0" && o.ResourceVersionMatch != metav1.ResourceVersionMatchExact {
		return 0
	}
	return o.Limit
}

// exact says whether the list must show the state at one version.
func (o *listOptions) exact() bool {
	if o.rv == 0 {
		return false
	}
	return o.ResourceVersionMatch == metav1.ResourceVersionMatchExact || o.ResourceVersionMatch == "" && o.Limit > 0
}

func (o *listOptions) timeout() time.Duration {
	if o.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*o.TimeoutSeconds) * time.Second
}

// tooLarge refuses a version that has not been reached.
func tooLarge(want, have uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", want, have), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}
