package fakeapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// serveMeta answers the requests that are not about objects: discovery, health
// and the version. It returns false if the path is none of these.
func (s *Server) serveMeta(w http.ResponseWriter, r Request) bool {
	parts := strings.Split(strings.Trim(r.Path, "/"), "/")
	switch {
	case slices.Contains([]string{"healthz", "livez", "readyz"}, parts[0]):
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok"))
	case r.Path == "/version":
		writeJSON(w, apiversion.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3", Platform: "fakeapi", Compiler: "gc"})
	case r.Path == "/api":
		writeJSON(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: s.versions("")})
	case r.Path == "/apis":
		writeJSON(w, s.groupList())
	case len(parts) == 2 && parts[0] == "apis":
		group := s.group(parts[1])
		if len(group.Versions) == 0 {
			return false
		}
		group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		writeJSON(w, group)
	case len(parts) == 2 && parts[0] == "api":
		return s.serveResources(w, schema.GroupVersion{Version: parts[1]})
	case len(parts) == 3 && parts[0] == "apis":
		return s.serveResources(w, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	default:
		return false
	}
	return true
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // an error here means that the client has gone
}

func (s *Server) sortedResources() []*resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sortedResourcesLocked()
}

func (s *Server) versions(group string) []string {
	var out []string
	for _, res := range s.sortedResources() {
		if res.Group == group && !slices.Contains(out, res.Version) {
			out = append(out, res.Version)
		}
	}
	return out
}

func (s *Server) groupList() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	var last string
	for _, res := range s.sortedResources() {
		if res.Group != "" && res.Group != last {
			last = res.Group
			list.Groups = append(list.Groups, s.group(res.Group))
		}
	}
	return list
}

func (s *Server) group(name string) metav1.APIGroup {
	group := metav1.APIGroup{Name: name}
	for _, v := range s.versions(name) {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{
			GroupVersion: schema.GroupVersion{Group: name, Version: v}.String(), Version: v})
	}
	if len(group.Versions) > 0 {
		group.PreferredVersion = group.Versions[0]
	}
	return group
}

func (s *Server) serveResources(w http.ResponseWriter, gv schema.GroupVersion) bool {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, res := range s.sortedResources() {
		if res.Group == gv.Group && res.Version == gv.Version {
			list.APIResources = append(list.APIResources, res.discovery()...)
		}
	}
	if len(list.APIResources) == 0 {
		return false
	}
	writeJSON(w, list)
	return true
}

// discovery lists a resource and its subresources.
func (r *resource) discovery() []metav1.APIResource {
	verbs := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	if !r.typed {
		verbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	}
	if r.noDeleteCollection {
		verbs = slices.DeleteFunc(verbs, func(v string) bool { return v == "deletecollection" })
	}
	out := []metav1.APIResource{{
		Name: r.Resource, SingularName: strings.ToLower(r.Kind.Kind), Namespaced: !r.ClusterScoped, Kind: r.Kind.Kind,
		Verbs: verbs, ShortNames: r.ShortNames, Categories: r.Categories,
	}}
	for _, sub := range r.subresources() {
		entry := metav1.APIResource{Name: r.Resource + "/" + sub.name, Namespaced: !r.ClusterScoped, Kind: r.Kind.Kind, Verbs: sub.verbs}
		if sub.gvk.Kind != "" {
			entry.Kind = sub.gvk.Kind
		}
		if sub.gvk.Kind != "" && sub.gvk.GroupVersion() != r.gvk().GroupVersion() {
			entry.Group, entry.Version = sub.gvk.Group, sub.gvk.Version
		}
		out = append(out, entry)
	}
	return out
}

type subresource struct {
	name  string
	verbs metav1.Verbs
	gvk   schema.GroupVersionKind // if it is not the object's own
}

func (r *resource) subresources() []subresource {
	var out []subresource
	edit := metav1.Verbs{"get", "patch", "update"}
	switch r.gr() {
	case namespaces:
		out = append(out, subresource{name: "finalize", verbs: metav1.Verbs{"update"}})
	case schema.GroupResource{Resource: "pods"}:
		out = append(out,
			subresource{name: "binding", verbs: metav1.Verbs{"create"}, gvk: bindingResource.gvk()},
			subresource{name: "eviction", verbs: metav1.Verbs{"create"}, gvk: evictionResource.gvk()})
	}
	if r.gr() == serviceAccounts {
		out = append(out, subresource{name: "token", verbs: metav1.Verbs{"create"}, gvk: tokenResource.gvk()})
	}
	if r.Scale != nil {
		out = append(out, subresource{name: "scale", verbs: edit, gvk: scaleGVK})
	}
	if r.Status {
		out = append(out, subresource{name: "status", verbs: edit})
	}
	return out
}
