package fakeapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Request is one request as the server understood it. It is what faults
// match and what the log keeps.
type Request struct {
	// Verb is get, list, watch, create, update, patch, delete or
	// deletecollection; for anything that is not a resource, the HTTP method
	// in lower case.
	Verb        string
	Group       string
	Version     string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	// Path and Query are what was asked literally.
	Path  string
	Query url.Values
	// UserAgent names the client.
	UserAgent string
}

// Parse reads a request without looking at what is registered. The shape of
// the path decides: /api/v1 or /apis/group/version, then perhaps
// namespaces/name, then resource[/name[/subresource]].
func Parse(r *http.Request) Request {
	out := Request{Verb: strings.ToLower(r.Method), Path: r.URL.Path, Query: r.URL.Query(), UserAgent: r.UserAgent()}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		out.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		out.Group, out.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return out
	}
	// namespaces/x/pods is about pods, namespaces/x and namespaces/x/status
	// are about the namespace.
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains([]string{"status", "finalize"}, parts[2]) {
		out.Namespace, parts = parts[1], parts[2:]
	}
	out.Resource = parts[0]
	if len(parts) > 1 {
		out.Name = parts[1]
	}
	if len(parts) > 2 {
		out.Subresource = strings.Join(parts[2:], "/")
	}
	out.Verb = verb(r.Method, out)
	return out
}

func verb(method string, r Request) string {
	watch := r.Query.Get("watch")
	watching := watch != "" && watch != "0" && watch != "false"
	switch method {
	case http.MethodGet, http.MethodHead:
		// The path of one object cannot be watched: the real server ignores
		// the wish and sends the object.
		switch {
		case r.Name != "":
			return "get"
		case watching:
			return "watch"
		}
		return "list"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if r.Name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return strings.ToLower(method)
}

func (r Request) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
}
