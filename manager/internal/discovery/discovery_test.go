package discovery

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// pages are what a server answers, by path; the others are a text 404.
type pages map[string]page

type page struct{ contentType, body string }

// RoundTrip implements http.RoundTripper.
func (p pages) RoundTrip(r *http.Request) (*http.Response, error) {
	found, ok := p[r.URL.Path]
	code := http.StatusOK
	if !ok {
		code, found = http.StatusNotFound, page{"text/plain; charset=utf-8", "404 page not found\n"}
	}
	return fakeapi.Answer(r, code, found.contentType, found.body), nil
}

func clientOf(t *testing.T, p pages) *Client {
	t.Helper()
	c, err := New(&rest.Config{Host: "http://nowhere"}, &http.Client{Transport: p})
	require.NoError(t, err)
	return c
}

// aggregatedPage lists groups, each with the version v1 and one kind.
func aggregatedPage(t *testing.T, kind string, groups ...string) page {
	t.Helper()
	all := apidiscovery.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: kind, APIVersion: "apidiscovery.k8s.io/v2"}}
	for _, group := range groups {
		all.Items = append(all.Items, apidiscovery.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: group},
			Versions: []apidiscovery.APIVersionDiscovery{{Version: "v1", Freshness: apidiscovery.DiscoveryFreshnessCurrent,
				Resources: []apidiscovery.APIResourceDiscovery{{Resource: "things", Scope: apidiscovery.ScopeNamespace,
					ResponseKind: &metav1.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"}}}}},
		})
	}
	body, err := json.Marshal(all)
	require.NoError(t, err)
	return page{"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", string(body)}
}

// It's what every API server since 1.27 sends.
func TestAggregatedDiscoveryIsReadWholeOrNotAtAll(t *testing.T) {
	const kind = "APIGroupDiscoveryList"
	groups, resources, failed, err := clientOf(t, pages{
		"/api": aggregatedPage(t, kind, ""), "/apis": aggregatedPage(t, kind, "apps", "shop.example"),
	}).GroupsAndMaybeResources()
	require.NoError(t, err)
	require.Empty(t, failed)
	require.Len(t, groups.Groups, 3)
	for _, gv := range []schema.GroupVersion{{Version: "v1"}, {Group: "apps", Version: "v1"}, {Group: "shop.example", Version: "v1"}} {
		require.Equal(t, "Thing", resources[gv].APIResources[0].Kind, gv)
	}

	for what, apis := range map[string]page{
		"without a group of Kubernetes' own": aggregatedPage(t, kind, "shop.example"),
		"without groups":                     aggregatedPage(t, kind),
		"of another kind":                    aggregatedPage(t, "Surprise", "apps"),
		"cut off":                            {aggregatedPage(t, kind).contentType, aggregatedPage(t, kind, "apps").body[:60]},
		"a login page":                       {"text/html", "<html>Log in"},
	} {
		_, _, _, err = clientOf(t, pages{"/api": aggregatedPage(t, kind, ""), "/apis": apis}).GroupsAndMaybeResources()
		var unsound *AnswerError
		require.ErrorAs(t, err, &unsound, what)
		require.Equal(t, "/apis", unsound.Path)
	}
}

// Half a character shows as its bytes, in each line of the log.
func TestWhatAnErrorRepeatsOfAPageEndsBetweenTwoCharacters(t *testing.T) {
	login := page{"text/html", "<html>" + strings.Repeat("x登录", 100) + "</html>"}
	_, err := clientOf(t, pages{"/apis/apps/v1": login}).Resources(t.Context(), schema.GroupVersion{Group: "apps", Version: "v1"})
	require.ErrorContains(t, err, "登录")
	require.NotContains(t, err.Error(), `\x`)
	require.NotContains(t, err.Error(), "</html>", "the page is in the error whole")
}

// Without Pods, most programs can't do anything, and client-go doesn't say why.
func TestTheCoreGroupIsUnknownAndNotGoneIfItIsNotAnswered(t *testing.T) {
	for what, core := range map[string]pages{
		"a 404": {}, "a login page": {"/api": {"text/html", "<html>Log in"}},
		"no versions": {"/api": {"application/json", `{"kind":"APIVersions","versions":[]}`}},
		"no kinds":    {"/api": aggregatedPage(t, "APIGroupDiscoveryList", "")},
	} {
		if what == "no kinds" {
			core["/api"] = page{core["/api"].contentType, `{"kind":"APIGroupDiscoveryList","items":[]}`}
		}
		core["/apis"] = aggregatedPage(t, "APIGroupDiscoveryList", "apps")
		groups, resources, failed, err := clientOf(t, core).GroupsAndMaybeResources()
		require.NoError(t, err, what)
		require.Equal(t, "", groups.Groups[0].Name, "%s: the core group is there", what)
		require.Error(t, failed[coreV1], what)
		require.False(t, apierrors.IsNotFound(failed[coreV1]), what)
		require.Contains(t, resources, schema.GroupVersion{Group: "apps", Version: "v1"}, what)
	}
	_, err := clientOf(t, pages{"/apis": aggregatedPage(t, "APIGroupDiscoveryList", "apps")}).Resources(t.Context(), coreV1)
	require.ErrorContains(t, err, `GET /api/v1 was answered with 404, text/plain; charset=utf-8, "404 page not found"`)
}

// The order of two questions must not matter: a version is gone only if a whole list of groups leaves it out.
func TestAVersionIsGoneIfAListOfGroupsLeavesItOut(t *testing.T) {
	gv := schema.GroupVersion{Group: "shop.example", Version: "v1"}
	list := func(groups string) page {
		return page{"application/json", `{"kind":"APIGroupList","groups":[` + groups + `]}`}
	}
	const apps = `{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]}`
	for what, c := range map[string]struct {
		apis page
		gone bool
	}{
		"another group":             {list(apps), true},
		"another version":           {list(apps + `,{"name":"shop.example","versions":[{"groupVersion":"shop.example/v2","version":"v2"}]}`), true},
		"the version":               {list(apps + `,{"name":"shop.example","versions":[{"groupVersion":"shop.example/v1","version":"v1"}]}`), false},
		"the group without version": {list(apps + `,{"name":"shop.example","versions":[]}`), false},
		"no group":                  {list(""), false},
	} {
		found, err := clientOf(t, pages{"/apis": c.apis}).Resources(t.Context(), gv)
		require.Nil(t, found, what)
		require.Equal(t, c.gone, err == nil, "%s: %v", what, err)
		var unsound *AnswerError
		require.Equal(t, !c.gone, errors.As(err, &unsound), what)
	}
}
