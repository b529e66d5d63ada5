package filters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// judge is an API server that knows nothing but reviews. The token "ann" belongs to ann, who may
// get /metrics; "nobody" and "guess-..." belong to nobody, and every other token to somebody who may
// do nothing.
type judge struct {
	mu    sync.Mutex // guards the following
	asked []string
	fails int           // how many requests fail
	with  int           // with this code, or without an answer if it is 0
	takes time.Duration // how long an answer takes
}

// RoundTrip implements http.RoundTripper.
func (j *judge) RoundTrip(req *http.Request) (*http.Response, error) {
	kind := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]
	j.mu.Lock()
	j.asked = append(j.asked, kind)
	fail, with, takes := j.fails > 0, j.with, j.takes
	j.fails--
	j.mu.Unlock()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	if fail && with == 0 {
		return nil, errors.New("connection refused")
	}
	var answer any
	code := http.StatusCreated
	switch {
	case fail:
		code, answer = with, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1",
			Kind: "Status"}, Status: "Failure", Code: int32(with)}
	case kind == "tokenreviews":
		answer = reviewToken(req.Body)
	default:
		answer = reviewAccess(req.Body)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return fakeapi.Answer(req, code, "application/json", string(body)), nil
}

func reviewToken(body io.Reader) any {
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(body).Decode(&review); err != nil {
		panic(err)
	}
	switch token, _, _ := strings.Cut(review.Spec.Token, "-"); token {
	case "nobody", "guess":
	case "expired":
		review.Status.Error = "the token has expired"
	default:
		review.Status.Authenticated = true
		review.Status.User = authenticationv1.UserInfo{Username: review.Spec.Token, UID: "7",
			Groups: []string{"people"},
			Extra:  map[string]authenticationv1.ExtraValue{"scope": {"read"}}}
	}
	return review
}

func reviewAccess(body io.Reader) any {
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(body).Decode(&review); err != nil {
		panic(err)
	}
	s := review.Spec
	complete := s.UID == "7" && fmt.Sprint(s.Groups, s.Extra) == "[people] map[scope:[read]]"
	review.Status.Denied = s.User == "eve" // who is allowed by one rule and denied by another
	review.Status.Allowed = complete && (s.User == "ann" || s.User == "eve") &&
		*s.NonResourceAttributes == authorizationv1.NonResourceAttributes{Path: "/metrics",
			Verb: "get"}
	return review
}

// take returns how often the judge was asked since the last time, by kind.
func (j *judge) take() (tokens, accesses int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, kind := range j.asked {
		if kind == "tokenreviews" {
			tokens++
		} else {
			accesses++
		}
	}
	j.asked = nil
	return tokens, accesses
}

// guarded is a handler behind the filter, which shows what it is given.
func guarded(t *testing.T, j *judge) http.Handler { return loggingGuard(t, j, logr.Discard()) }

func loggingGuard(t *testing.T, j *judge, log logr.Logger) http.Handler {
	t.Helper()
	// which the judge can read, and the default of 5 requests a second
	config := &rest.Config{Host: "http://judge",
		ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	filter, err := WithAuthenticationAndAuthorization(config, &http.Client{Transport: j})
	require.NoError(t, err)
	handler, err := filter(log, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, "metrics %q", req.Header.Get("Authorization"))
	}))
	require.NoError(t, err)
	return handler
}

func ask(ctx context.Context, h http.Handler, method, path, authorization string) (int, string) {
	w := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(ctx, method, path, nil)
	req.Header.Set("Authorization", authorization)
	h.ServeHTTP(w, req)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestTheServerSaysWhoMayReadMetrics(t *testing.T) {
	for name, c := range inorder.Map(map[string]struct {
		method, path, authorization string
		code                        int
		body                        string
	}{
		"who may":          {"GET", "/metrics", "Bearer ann", 200, `metrics ""`},
		"in other letters": {"GET", "/metrics", "bearer  ann ", 200, `metrics ""`},
		"another verb": {"POST", "/metrics", "Bearer ann", 403,
			"Authorization denied for user ann"},
		"another path": {"GET", "/debug", "Bearer ann", 403,
			"Authorization denied for user ann"},
		"another user": {"GET", "/metrics", "Bearer bob", 403,
			"Authorization denied for user bob"},
		"who is also denied": {"GET", "/metrics", "Bearer eve", 403,
			"Authorization denied for user eve"},
		"a token that is nobody's": {"GET", "/metrics", "Bearer nobody", 401, "Unauthorized"},
		"a token that has expired": {"GET", "/metrics", "Bearer expired", 401, "Unauthorized"},
		"no token":                 {"GET", "/metrics", "", 401, "Unauthorized"},
		"an empty token":           {"GET", "/metrics", "Bearer ", 401, "Unauthorized"},
		"a password":               {"GET", "/metrics", "Basic ann", 401, "Unauthorized"},
	}) {
		t.Run(name, func(t *testing.T) {
			code, body := ask(t.Context(), guarded(t, &judge{}), c.method, c.path, c.authorization)
			require.Equal(t, c.code, code)
			require.Equal(t, c.body, body)
		})
	}
}

func TestAnswersAreRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &judge{}
		h := guarded(t, j)
		expect := func(token string, tokens, accesses int) {
			t.Helper()
			ask(t.Context(), h, "GET", "/metrics", "Bearer "+token)
			gotTokens, gotAccesses := j.take()
			require.Equal(t, []int{tokens, accesses}, []int{gotTokens, gotAccesses}, "after %v",
				token)
		}
		for _, token := range []string{"ann", "bob"} {
			expect(token, 1, 1)
		}
		for _, token := range []string{"nobody", "expired"} {
			expect(token, 1, 0)
		}
		time.Sleep(failureFor)
		expect("expired", 0, 0)
		time.Sleep(time.Nanosecond)
		expect("expired", 1, 0)
		time.Sleep(deniedFor - failureFor - 1)
		expect("bob", 0, 0)
		time.Sleep(time.Nanosecond)
		expect("bob", 0, 1)
		time.Sleep(tokenFor - deniedFor - 1)
		expect("ann", 0, 0)
		expect("nobody", 0, 0)
		time.Sleep(time.Nanosecond)
		expect("ann", 1, 0)
		expect("nobody", 1, 0)
		time.Sleep(allowedFor - tokenFor - 1)
		expect("ann", 1, 0)
		time.Sleep(time.Nanosecond)
		expect("ann", 0, 1)
	})
}

func TestAServerThatFailsForAMomentIsAskedAgain(t *testing.T) {
	for name, c := range inorder.Map(map[string]struct {
		fails, with, code, asked int
		took                     string // pauses of 0.5, 0.75, 1.125 and 1.6875 seconds
	}{
		"it is away":            {4, 0, 200, 5, "4.0625s"},
		"it has too much to do": {2, 429, 200, 3, "1.25s"},
		"it is overloaded":      {1, 503, 200, 2, "500ms"},
		"it is broken":          {1, 500, 200, 2, "500ms"},
		"it stays away":         {5, 0, 500, 5, "4.0625s"},
		"we may not ask":        {1, 403, 500, 1, "0s"},
		"it is well":            {0, 0, 200, 1, "0s"},
	}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &judge{fails: c.fails, with: c.with}
				h := guarded(t, j)
				began := time.Now()
				code, _ := ask(t.Context(), h, "GET", "/metrics", "Bearer ann")
				require.Equal(t, c.code, code)
				require.Equal(t, c.took, time.Since(began).String())
				tokens, _ := j.take()
				require.Equal(t, c.asked, tokens)
				code, _ = ask(t.Context(), h, "GET", "/metrics", "Bearer ann")
				require.Equal(t, 200, code, "a failure is not remembered")
			})
		})
	}
}

func TestAPermissionThatCannotBeReviewedIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &judge{}
		h := guarded(t, j)
		ask(t.Context(), h, "GET", "/other", "Bearer ann")
		j.fails = 5
		code, body := ask(t.Context(), h, "GET", "/metrics", "Bearer ann")
		require.Equal(t, 500, code)
		require.Equal(t, "Authorization for user ann failed", body)
	})
}

func TestManyScrapesAtOnceAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &judge{takes: time.Second}
		h := guarded(t, j)
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { // asks for all, and goes
			began := time.Now()
			code, _ := ask(impatient, h, "GET", "/metrics", "Bearer ann")
			require.Equal(t, 500, code)
			require.Equal(t, time.Millisecond, time.Since(began))
		})
		synctest.Wait()
		for range 10 {
			all.Go(func() {
				code, _ := ask(t.Context(), h, "GET", "/metrics", "Bearer ann")
				require.Equal(t, 200, code)
			})
		}
		all.Wait()
		tokens, accesses := j.take()
		require.Equal(t, 1, tokens)
		require.Equal(t, 1, accesses)
	})
}

func TestAServerThatHangsIsNotWaitedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &judge{takes: time.Hour}
		began := time.Now()
		code, _ := ask(t.Context(), guarded(t, j), "GET", "/metrics", "Bearer ann")
		require.Equal(t, 500, code)
		require.Equal(t, 5*10*time.Second+4062500*time.Microsecond, time.Since(began),
			"five times ten seconds, and the pauses")
	})
}
