package fakeapi

import (
	"fmt"
	"mime"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// A patch is one PATCH request.
type patch struct {
	kind       types.PatchType
	body       []byte
	manager    string
	force      bool
	validation string
}

// servePatch answers a PATCH of an object or of its status.
func (s *Server) servePatch(a answer, res *resource, r Request, hr *http.Request) error {
	p, dryRun, err := readPatch(res, r, hr)
	if err != nil {
		return err
	}
	var warnings []error // of the last try
	out, created, err := s.update(updating{
		res: res, subresource: r.Subresource, namespace: r.Namespace, name: r.Name,
		mayCreate: p.kind == types.ApplyPatchType, dryRun: dryRun,
		mutate: func(old runtime.Object) (next runtime.Object, err error) {
			next, warnings, err = s.patched(res, r, p, old)
			return next, err
		},
	})
	if err != nil {
		return err
	}
	for _, w := range warnings {
		warn(a.w, w.Error())
	}
	a.object(codeFor(created), out)
	return nil
}

func readPatch(res *resource, r Request, hr *http.Request) (patch, bool, error) {
	media, _, _ := mime.ParseMediaType(hr.Header.Get("Content-Type"))
	p := patch{kind: types.PatchType(media)}
	accepted := []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyPatchType)}
	if res.typed {
		accepted = append(accepted, string(types.StrategicMergePatchType))
	}
	known := false
	for _, media := range accepted {
		known = known || string(p.kind) == media
	}
	if !known {
		return p, false, unsupportedMediaType(accepted)
	}
	var options metav1.PatchOptions
	check := func() field.ErrorList { return validation.ValidatePatchOptions(&options, p.kind) }
	if err := queryOptions(r, "PatchOptions", &options, check); err != nil {
		return p, false, err
	}
	p.manager = managerName(options.FieldManager, r.UserAgent)
	p.force = options.Force != nil && *options.Force
	p.validation = options.FieldValidation
	var err error
	p.body, err = readBody(hr)
	return p, len(options.DryRun) > 0, err
}

// patched returns what the patch makes of old, which is nil if the object does
// not exist.
func (s *Server) patched(res *resource, r Request, p patch, old runtime.Object) (runtime.Object, []error, error) {
	var next runtime.Object
	var warnings []error
	var err error
	if p.kind == types.ApplyPatchType {
		next, err = s.patchedByApply(res, r, p, old)
	} else {
		next, warnings, err = patchedByContent(res, p, old)
		if err == nil {
			next, err = s.trackUpdate(res, r.Subresource, old, next, p.manager)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if res.defaults != nil {
		res.defaults(next)
	}
	next.GetObjectKind().SetGroupVersionKind(res.gvk())
	if err := checkNamespace(res, next, r.Namespace); err != nil {
		return nil, nil, err
	}
	dedupOwners(next)
	return next, warnings, checkName(next, r.Namespace, r.Name)
}

func (s *Server) patchedByApply(res *resource, r Request, p patch, old runtime.Object) (runtime.Object, error) {
	content := map[string]any{}
	document, err := yaml.YAMLToJSON(p.body)
	if err == nil {
		// This decoder keeps whole numbers whole, so that the same number is
		// the same value however it came in.
		err = json.Unmarshal(document, &content)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	return s.apply(res, r.Subresource, old, content, p.manager, p.force)
}

// patchedByContent applies the patches that edit a document.
func patchedByContent(res *resource, p patch, old runtime.Object) (runtime.Object, []error, error) {
	if p.kind == types.StrategicMergePatchType {
		return patchedStrategically(res, p, old)
	}
	document, err := jsonFormat.encode(old)
	if err != nil {
		return nil, nil, err
	}
	edited, err := editDocument(p, document)
	if err != nil {
		return nil, nil, err
	}
	next, warnings, err := decodePatched(res, edited, p.validation != metav1.FieldValidationIgnore)
	return next, warnings, refusePatched(p, edited, warnings, err)
}

func editDocument(p patch, document []byte) ([]byte, error) {
	if p.kind == types.MergePatchType {
		if !isObject(p.body) {
			return nil, apierrors.NewBadRequest("error decoding patch: it is not a JSON object")
		}
		edited, err := jsonpatch.MergePatch(document, p.body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return edited, nil
	}
	operations, err := jsonpatch.DecodePatch(p.body)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	edited, err := operations.Apply(document)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return edited, nil
}

func isObject(body []byte) bool {
	var content map[string]any
	return json.Unmarshal(body, &content) == nil
}

// patchedStrategically merges lists by key, as the Go types of the kind say.
func patchedStrategically(res *resource, p patch, old runtime.Object) (runtime.Object, []error, error) {
	before, err := toMap(old)
	if err != nil {
		return nil, nil, err
	}
	var changes map[string]any
	if err := json.Unmarshal(p.body, &changes); err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	after, err := strategicpatch.StrategicMergeMapPatch(before, changes, res.new())
	switch err {
	case nil:
	case mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys:
		return nil, nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	default:
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	next := res.new()
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(after, next, p.validation != metav1.FieldValidationIgnore)
	var warnings []error
	if problems, ok := runtime.AsStrictDecodingError(err); ok {
		warnings, err = problems.Errors(), nil
	}
	return next, warnings, refusePatched(p, fmt.Appendf(nil, "%+v", changes), warnings, err)
}

func decodePatched(res *resource, document []byte, strict bool) (runtime.Object, []error, error) {
	if res.typed {
		return decodeTyped(res.gvk(), jsonFormat.info, document, strict)
	}
	obj, warnings, err := decodeCustom(res, jsonFormat.info, document)
	if !strict {
		warnings = nil
	}
	return obj, warnings, err
}

// refusePatched is the answer to a patch whose result is not an object of the
// kind.
func refusePatched(p patch, document []byte, warnings []error, err error) error {
	if err == nil && len(warnings) > 0 && p.validation == metav1.FieldValidationStrict {
		err = runtime.NewStrictDecodingError(warnings)
	}
	if err == nil {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(document), err.Error())})
}
