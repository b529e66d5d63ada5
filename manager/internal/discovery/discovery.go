// Package discovery asks an API server which kinds it serves, and accepts only a discovery document
// as an answer.
//
// An API server answers the path of a group that it doesn't serve with a plain "404 page not
// found". So does a load balancer without a backend. That's why a 404 is never evidence here: a
// kind is missing when a document that should list it, and lists others, doesn't.
//
// Neighbours: below it is client-go's REST client; its discovery client won't do, because it turns
// a 404 for /api or /api/v1 into an empty list without an error. Above it, manager/cache asks
// whether a kind was removed, and apiutil's RESTMapper which kinds exist.
package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// AnswerError is an answer that isn't a discovery document. It isn't a NotFound error, even if its
// code is 404: it says nothing about objects, or about kinds.
type AnswerError struct {
	Path        string
	Code        int    // of the HTTP answer
	ContentType string // as in the answer
	Line        string // the first line of the body
	Why         string // why it isn't a document
	err         error  // client-go's, if it isn't a 404
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("GET %s was answered with %d, %s, %q: %s", e.Path, e.Code, e.ContentType,
		e.Line, e.Why)
}

func (e *AnswerError) Unwrap() error { return e.err }

// Client asks one API server.
type Client struct{ rest *rest.RESTClient }

// New returns a client. It sends nothing yet. Like client-go's clients, it retries when the server
// says when to come back.
func New(config *rest.Config, httpClient *http.Client) (*Client, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	made, err := rest.NewRESTClient(base, "", rest.ClientContentConfig{Negotiator: asItCame{}}, nil,
		httpClient)
	if err != nil {
		return nil, err
	}
	return &Client{made}, nil
}

// asItCame makes client-go return answers of any content type. Otherwise the code and body of a
// login page would be lost. It decodes nothing.
type asItCame struct{ runtime.ClientNegotiator }

// Decoder implements runtime.ClientNegotiator.
func (asItCame) Decoder(string, map[string]string) (runtime.Decoder, error) { return nil, nil }

// Resources returns the resources of a group and version: nil without an error if the server itself
// says that it doesn't serve that version. Everything else is an error: a 404 for a group that is
// listed, for instance, or any 404 of the core group, which every server has.
func (c *Client) Resources(
	ctx context.Context, gv schema.GroupVersion,
) (*metav1.APIResourceList, error) {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	found := &metav1.APIResourceList{}
	err := c.get(ctx, path, jsonOnly, func(answer answer) string {
		return answer.decode("APIResourceList", found, func() string {
			switch {
			case found.GroupVersion != gv.String():
				return fmt.Sprintf("it's about the group version %q", found.GroupVersion)
			case len(found.APIResources) == 0:
				return "it lists no resources"
			}
			return ""
		})
	})
	var unsound *AnswerError
	if gv.Group == "" || !errors.As(err, &unsound) || unsound.Code != http.StatusNotFound {
		return orNil(found, err)
	}
	groups, _, _, listErr := c.groups(ctx, jsonOnly)
	if listErr != nil || lists(groups, gv) {
		return nil, err
	}
	return nil, nil
}

func orNil[T any](value *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return value, nil
}

// lists reports whether a group version is in a list, or may be: if the list leaves out a group's
// versions, it says nothing about them.
func lists(groups []metav1.APIGroup, gv schema.GroupVersion) bool {
	return slices.ContainsFunc(groups, func(group metav1.APIGroup) bool {
		return group.Name == gv.Group && (len(group.Versions) == 0 ||
			slices.ContainsFunc(group.Versions, func(v metav1.GroupVersionForDiscovery) bool {
				return v.Version == gv.Version
			}))
	})
}

const (
	jsonOnly     = "application/json"
	orAggregated = clientdiscovery.AcceptV2 + "," + jsonOnly
)

var aggregated = apidiscovery.SchemeGroupVersion.WithKind("APIGroupDiscoveryList")

// GroupsAndMaybeResources returns the groups that the server lists. A server with aggregated
// discovery sends the resources along; with any other, they're nil. If the server couldn't look
// into a version, it's in failed.
//
// The core group is always listed with v1. If the answer for it isn't a document, it's in failed:
// an API server that is only ever called through another one may really not have it.
func (c *Client) GroupsAndMaybeResources() (
	groups *metav1.APIGroupList, resources map[schema.GroupVersion]*metav1.APIResourceList,
	failed map[schema.GroupVersion]error, err error,
) {
	ctx := context.Background() // a RESTMapper has no other; the HTTP client has a time-out
	listed, resources, failed, err := c.groups(ctx, orAggregated)
	if err != nil {
		return nil, nil, nil, err
	}
	core, coreResources, err := c.coreGroup(ctx)
	var unsound *AnswerError
	switch {
	case errors.As(err, &unsound):
		failed[coreV1] = err
	case err != nil:
		return nil, nil, nil, err
	case coreResources == nil:
		resources = nil // it's in an older form, so all versions have to be asked for
	case resources != nil:
		resources[coreV1] = coreResources
	}
	return &metav1.APIGroupList{Groups: append([]metav1.APIGroup{core}, listed...)}, resources,
		failed, nil
}

// groups returns the groups of /apis, which are all but the core group.
func (c *Client) groups(ctx context.Context, accept string) (
	[]metav1.APIGroup, map[schema.GroupVersion]*metav1.APIResourceList,
	map[schema.GroupVersion]error, error,
) {
	var list *metav1.APIGroupList
	var resources map[schema.GroupVersion]*metav1.APIResourceList
	failed := map[schema.GroupVersion]error{}
	isWhole := func() string {
		if !slices.ContainsFunc(list.Groups, isBuiltIn) {
			return "it lists none of the groups that every API server has"
		}
		return ""
	}
	err := c.get(ctx, "/apis", accept, func(answer answer) string {
		if !answer.isAggregated() {
			list = &metav1.APIGroupList{}
			return answer.decode("APIGroupList", list, isWhole)
		}
		var all apidiscovery.APIGroupDiscoveryList
		return answer.decode(aggregated.Kind, &all, func() string {
			list, resources, failed = clientdiscovery.SplitGroupsAndResources(all)
			return isWhole()
		})
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return list.Groups, resources, failed, nil
}

// isBuiltIn reports whether a group is Kubernetes' own, such as apps or apiregistration.k8s.io.
// Only names under k8s.io, and those without a domain, are.
func isBuiltIn(group metav1.APIGroup) bool {
	return len(group.Versions) > 0 &&
		(!strings.Contains(group.Name, ".") || strings.HasSuffix(group.Name, ".k8s.io"))
}

var (
	coreV1       = schema.GroupVersion{Version: "v1"}
	coreV1Listed = metav1.GroupVersionForDiscovery{GroupVersion: "v1", Version: "v1"}
	coreListed   = metav1.APIGroup{Versions: []metav1.GroupVersionForDiscovery{coreV1Listed},
		PreferredVersion: coreV1Listed}
)

// coreGroup returns the core group, and its resources if the server aggregates them. It returns the
// group even with an error.
func (c *Client) coreGroup(
	ctx context.Context,
) (metav1.APIGroup, *metav1.APIResourceList, error) {
	var resources *metav1.APIResourceList
	err := c.get(ctx, "/api", orAggregated, func(answer answer) string {
		if !answer.isAggregated() {
			var versions metav1.APIVersions
			return answer.decode("APIVersions", &versions, func() string {
				if !slices.Contains(versions.Versions, coreV1.Version) {
					return "it doesn't list v1"
				}
				return ""
			})
		}
		var all apidiscovery.APIGroupDiscoveryList
		return answer.decode(aggregated.Kind, &all, func() string {
			_, found, _ := clientdiscovery.SplitGroupsAndResources(all)
			if resources = found[coreV1]; resources == nil || len(resources.APIResources) == 0 {
				return "it lists no resources of v1"
			}
			return ""
		})
	})
	return coreListed, resources, err
}

// answer is an HTTP answer with the code 200.
type answer struct {
	mediaType, contentType string
	body                   []byte
}

func (a answer) isAggregated() bool {
	is, _ := clientdiscovery.ContentTypeIsGVK(a.contentType, aggregated)
	return is
}

// decode returns why the answer isn't a document of this kind, or "" if it is. content checks what
// was decoded.
func (a answer) decode(kind string, into any, content func() string) string {
	var is metav1.TypeMeta
	switch {
	case a.mediaType != jsonOnly:
		return "it's no " + kind + " in JSON"
	case json.Unmarshal(a.body, &is) != nil:
		return "it's no JSON"
	case is.Kind != kind:
		return fmt.Sprintf("it's of kind %q, and no %s", is.Kind, kind)
	case json.Unmarshal(a.body, into) != nil:
		return "it's no " + kind + " that can be decoded"
	}
	return content()
}

// get sends a request. read returns why the answer isn't a document, or "".
func (c *Client) get(
	ctx context.Context, path, accept string, read func(answer) string,
) error {
	var found answer
	failure := &AnswerError{Path: path}
	body, err := c.rest.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx).
		StatusCode(&failure.Code).ContentType(&failure.ContentType).Raw()
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	failure.Line = fmt.Sprintf("%.*s", maxLine, line)
	switch {
	case failure.Code == 0: // nothing has answered, or not to the end
		return fmt.Errorf("GET %s: %w", path, err)
	case apierrors.IsNotFound(err):
		failure.Why = "anything between here and the API server may say that"
	case err != nil:
		failure.Why, failure.err = "that's no answer to the question", err
	case failure.Code != http.StatusOK:
		failure.Why = "that's no answer to the question"
	default:
		found.body, found.contentType = body, failure.ContentType
		found.mediaType, _, _ = mime.ParseMediaType(failure.ContentType)
		failure.Why = read(found)
	}
	if failure.Why == "" {
		return nil
	}
	return failure
}

// maxLine bounds how much of an answer an error repeats, in characters.
const maxLine = 120
