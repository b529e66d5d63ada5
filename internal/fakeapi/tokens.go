package fakeapi

import (
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The subresource of service accounts that is an action: a token.

var (
	serviceAccounts = schema.GroupResource{Resource: "serviceaccounts"}
	tokenResource   = &resource{Kind: Kind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest", Resource: "tokenrequests"}, typed: true}
)

const (
	leastTokenSeconds = 600
	tokenSeconds      = 3600
	tokenAudience     = "https://kubernetes.default.svc"
)

// serveToken answers a POST to serviceaccounts/token. The token has no effect: the fake accepts
// every request.
func (s *Server) serveToken(a answer, res *resource, r Request, hr *http.Request) error {
	body, err := readBody(hr)
	if err != nil {
		return err
	}
	obj, _, err := decodeObject(tokenResource, hr.Header.Get("Content-Type"), "", body)
	if err != nil {
		return err
	}
	request := obj.(*authenticationv1.TokenRequest)
	if _, err := s.find(hr.Context(), res, r, 0); err != nil {
		return err
	}
	request.Spec.ExpirationSeconds = or(request.Spec.ExpirationSeconds, tokenSeconds)
	if *request.Spec.ExpirationSeconds < leastTokenSeconds {
		return apierrors.NewInvalid(tokenResource.gk(), "", field.ErrorList{field.Invalid(field.NewPath("spec", "expirationSeconds"),
			*request.Spec.ExpirationSeconds, "may not specify a duration less than 10 minutes")})
	}
	if len(request.Spec.Audiences) == 0 {
		request.Spec.Audiences = []string{tokenAudience}
	}
	now := time.Now()
	s.mu.Lock()
	request.UID = s.uidLocked()
	s.mu.Unlock()
	request.Status.Token = "fake." + string(request.UID)
	request.Status.ExpirationTimestamp = seconds(now.Add(time.Duration(*request.Spec.ExpirationSeconds) * time.Second))
	request.Name, request.Namespace = r.Name, r.Namespace
	request.CreationTimestamp = seconds(now)
	a.raw(http.StatusCreated, request)
	return nil
}
