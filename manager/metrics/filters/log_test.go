package filters

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// A client learns no more than that it is refused. Whoever runs the program must find out why; but
// anybody can send tokens, so what a client did wrong is detail.
func TestTheLogSaysWhyMetricsAreNotShown(t *testing.T) {
	for _, c := range []struct {
		name, path, token string
		fails             func(*judge)
		verbosity         int
		want              string
	}{
		{"shown", "/metrics", "ann", nil, 9, ""},
		{"a token that has expired", "/metrics", "expired", nil, 4,
			`"level"=4 "msg"="A token is not valid" "why"="the token is not valid: the token has expired"`},
		{"a token that has expired, in less detail", "/metrics", "expired", nil, 3, ""},
		{"no permission", "/metrics", "bob", nil, 4,
			`"level"=4 "msg"="A request was refused" "user"="bob" "why"=""`},
		{"no permission, in less detail", "/metrics", "bob", nil, 3, ""},
		{"no review of the token", "/metrics", "ann", func(j *judge) {
			j.fails = 5
		}, 0, `"msg"="A token could not be reviewed" "error"="create a TokenReview: `},
		{"no review of the permission", "/metrics", "ann", func(j *judge) {
			j.fails, j.with = 1, http.StatusForbidden
		}, 0, `"msg"="A permission could not be reviewed"~"user"="ann"~"error"="create a SubjectAccessReview: `},
	} {
		synctest.Test(t, func(t *testing.T) {
			var lines []string
			j := &judge{}
			h := loggingGuard(t, j, funcr.New(func(_, args string) {
				lines = append(lines, args)
			}, funcr.Options{Verbosity: c.verbosity}))
			if c.name == "no review of the permission" {
				// the token is known from then on
				ask(t.Context(), h, "GET", "/other", "Bearer "+c.token)
				lines = nil
			}
			if c.fails != nil {
				c.fails(j)
			}
			ask(t.Context(), h, "GET", c.path, "Bearer "+c.token)
			if c.want == "" {
				require.Empty(t, lines, c.name)
				return
			}
			require.Len(t, lines, 1, c.name)
			for part := range strings.SplitSeq(c.want, "~") {
				require.Contains(t, lines[0], part, c.name)
			}
		})
	}
}

// Other handlers around the filter, such as one that logs requests, still have the request as it
// came.
func TestTheTokenIsTakenFromTheHandlersRequestAlone(t *testing.T) {
	request := httptest.NewRequest("GET", "/metrics", nil)
	request.Header.Set("Authorization", "Bearer ann")
	w := httptest.NewRecorder()
	guarded(t, &judge{}).ServeHTTP(w, request)
	require.Equal(t, `metrics ""`, w.Body.String())
	require.Equal(t, "Bearer ann", request.Header.Get("Authorization"))
}

func TestAConfigThatCannotBeUsedIsAnError(t *testing.T) {
	_, err := WithAuthenticationAndAuthorization(&rest.Config{Host: "http://[::1"}, &http.Client{})
	require.ErrorContains(t, err, "make the filter for metrics: ")
}
