package fakeapi

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// queryOptions decodes and checks the options that come in a query.
func queryOptions(r Request, kind string, into runtime.Object, check func() field.ErrorList) error {
	if err := internalscheme.ParameterCodec.DecodeParameters(r.Query, metav1.SchemeGroupVersion, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if errs := check(); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	return nil
}

// serveCreate answers a POST to a collection.
func (s *Server) serveCreate(a answer, res *resource, r Request, hr *http.Request) error {
	var options metav1.CreateOptions
	if err := queryOptions(r, "CreateOptions", &options, func() field.ErrorList { return validation.ValidateCreateOptions(&options) }); err != nil {
		return err
	}
	body, err := readBody(hr)
	if err != nil {
		return err
	}
	obj, warnings, err := decodeObject(res, hr.Header.Get("Content-Type"), options.FieldValidation, body)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		warn(a.w, w.Error())
	}
	wipeSystemFields(res, obj)
	if err := checkNamespace(res, obj, r.Namespace); err != nil {
		return err
	}
	warn(a.w, dedupOwners(obj))
	if obj, err = s.trackUpdate(res, "", nil, obj, managerName(options.FieldManager, r.UserAgent)); err != nil {
		return err
	}
	out, err := s.create(res, obj, len(options.DryRun) > 0)
	if err != nil {
		return err
	}
	a.object(http.StatusCreated, out)
	return nil
}

// serveUpdate answers a PUT of an object or of its status.
func (s *Server) serveUpdate(a answer, res *resource, r Request, hr *http.Request) error {
	var options metav1.UpdateOptions
	if err := queryOptions(r, "UpdateOptions", &options, func() field.ErrorList { return validation.ValidateUpdateOptions(&options) }); err != nil {
		return err
	}
	body, err := readBody(hr)
	if err != nil {
		return err
	}
	obj, warnings, err := decodeObject(res, hr.Header.Get("Content-Type"), options.FieldValidation, body)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		warn(a.w, w.Error())
	}
	if err := checkNamespace(res, obj, r.Namespace); err != nil {
		return err
	}
	if err := checkName(obj, r.Namespace, r.Name); err != nil {
		return err
	}
	warn(a.w, dedupOwners(obj))
	manager := managerName(options.FieldManager, r.UserAgent)
	out, created, err := s.update(updating{
		res: res, subresource: r.Subresource, namespace: r.Namespace, name: r.Name,
		uid: metaOf(obj).GetUID(), mayCreate: res.createOnPut, dryRun: len(options.DryRun) > 0,
		mutate: func(old runtime.Object) (runtime.Object, error) {
			return s.trackUpdate(res, r.Subresource, old, obj.DeepCopyObject(), manager)
		},
	})
	if err != nil {
		return err
	}
	a.object(codeFor(created), out)
	return nil
}

func codeFor(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

func readDeleteOptions(r Request, hr *http.Request) (*metav1.DeleteOptions, error) {
	body, err := readBody(hr)
	if err != nil {
		return nil, err
	}
	options, err := decodeDeleteOptions(hr.Header.Get("Content-Type"), body)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		if err := internalscheme.ParameterCodec.DecodeParameters(r.Query, metav1.SchemeGroupVersion, options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if errs := validation.ValidateDeleteOptions(options); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	return options, nil
}

// serveDelete answers a DELETE of one object.
func (s *Server) serveDelete(a answer, res *resource, r Request, hr *http.Request) error {
	options, err := readDeleteOptions(r, hr)
	if err != nil {
		return err
	}
	obj, gone, err := s.delete(res, r.Namespace, r.Name, options)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if cascading := options.OrphanDependents; !gone && cascading != nil && !*cascading { //nolint:staticcheck // old clients send it
		code = http.StatusAccepted
	}
	if !gone || res.returnsDeleted {
		a.object(code, obj)
		return nil
	}
	m := metaOf(obj)
	// The real server puts the resource where the kind belongs.
	a.raw(code, success(&metav1.StatusDetails{Name: m.GetName(), Group: res.Group, Kind: res.Resource, UID: m.GetUID()}, 0))
	return nil
}

// serveDeleteCollection answers a DELETE of a collection with the objects that
// were in it.
func (s *Server) serveDeleteCollection(a answer, res *resource, r Request, hr *http.Request) error {
	selected, err := parseListOptions(res, r, true, s.options.ShardedListAndWatch)
	if err != nil {
		return err
	}
	options, err := readDeleteOptions(r, hr)
	if err != nil {
		return err
	}
	p, rv, err := s.readPage(res, selected, 0)
	if err != nil {
		return err
	}
	for _, item := range p.items {
		m := metaOf(item.obj)
		if _, _, err := s.delete(res, m.GetNamespace(), m.GetName(), options.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	next := ""
	if p.next != "" {
		next = encodeToken(int64(rv), selected.prefix, p.next)
	}
	lm := newListMeta(rv, next, p.remaining)
	a.raw(http.StatusOK, a.format.list(res, p.items, lm))
	return nil
}
