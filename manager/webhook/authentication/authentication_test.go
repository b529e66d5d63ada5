package authentication

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func post(
	t testing.TB, hook http.Handler, contentType string, body []byte,
) (review authenticationv1.TokenReview) {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	answer := httptest.NewRecorder()
	hook.ServeHTTP(answer, request)
	require.Equal(t, http.StatusOK, answer.Code)
	require.Equal(t, "application/json", answer.Result().Header.Get("Content-Type"))
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &review))
	return review
}

// doorman lets the token "banana" in.
var doorman = &Webhook{Handler: HandlerFunc(func(_ context.Context, req Request) Response {
	switch req.Spec.Token {
	case "banana":
		return Authenticated("", authenticationv1.UserInfo{Username: "bob"})
	case "broken":
		return Errored(errors.New("the list of tokens is lost"))
	}
	return Unauthenticated("wrong token", authenticationv1.UserInfo{Username: "mallory"})
})}

func TestATokenBelongsToAUser(t *testing.T) {
	for _, c := range []struct {
		token string
		want  authenticationv1.TokenReviewStatus
	}{
		{"banana", authenticationv1.TokenReviewStatus{Authenticated: true,
			User: authenticationv1.UserInfo{Username: "bob"}}},
		{"apple", authenticationv1.TokenReviewStatus{Error: "wrong token"}},
		{"broken", authenticationv1.TokenReviewStatus{Error: "the list of tokens is lost"}},
		{"", authenticationv1.TokenReviewStatus{Error: "token is empty"}},
	} {
		for _, version := range []string{"v1", "v1beta1"} {
			body := `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/` + version +
				`","metadata":{"uid":"u"},"spec":{"token":"` + c.token + `"}}`
			review := post(t, doorman, "application/json", []byte(body))
			require.Equal(t, c.want, review.Status, c.token)
			require.EqualValues(t, "u", review.UID, c.token)
			require.Equal(t, "authentication.k8s.io/"+version, review.APIVersion)
			require.Equal(t, "TokenReview", review.Kind)
			require.Empty(t, review.Spec.Token, "an answer does not repeat the token")
		}
	}
}

func TestWhatIsNoTokenReviewLetsNobodyIn(t *testing.T) {
	good := `{"spec":{"token":"banana"}}`
	require.True(t, post(t, doorman, "application/json", []byte(good)).Status.Authenticated)
	for _, c := range []struct{ contentType, body, want string }{
		{"application/json", "", "request body is empty"},
		{"application/json", "{", "the body is not a TokenReview"},
		{"application/json", `{"metadata":{"uid":"u"},"spec":1}`, "the body is not a TokenReview"},
		{"text/plain", good, "contentType=text/plain, expected application/json"},
		{"application/json",
			`{"kind":"Pod","apiVersion":"v1","metadata":{"uid":"u"},"spec":{"token":"banana"}}`,
			"the body is a Pod of version v1"},
		{"application/json", good + strings.Repeat(" ", maxRequestSize),
			"request entity is too large; limit is 1048576 bytes"},
	} {
		review := post(t, doorman, c.contentType, []byte(c.body))
		require.False(t, review.Status.Authenticated)
		require.Contains(t, review.Status.Error, c.want)
		require.Equal(t, metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1",
			Kind: "TokenReview"}, review.TypeMeta)
		require.Equal(t, strings.Contains(c.body, `"uid":"u"`), review.UID == "u",
			"the UID of %q is lost", c.body)
	}
}

func TestAnAnswerMayNameAudiences(t *testing.T) {
	response := ReviewResponse(true, authenticationv1.UserInfo{Username: "bob"}, "", "shop",
		"market")
	require.Equal(t, []string{"shop", "market"}, response.Status.Audiences)
}

func TestTheHandlerHasWhatTheRequestBrought(t *testing.T) {
	type key struct{}
	hook := &Webhook{
		WithContextFunc: func(ctx context.Context, r *http.Request) context.Context {
			return context.WithValue(ctx, key{}, r.Header.Get("Content-Type"))
		},
		Handler: HandlerFunc(func(ctx context.Context, _ Request) Response {
			return Authenticated("", authenticationv1.UserInfo{Username: ctx.Value(key{}).(string)})
		}),
	}
	require.Equal(t, "application/json",
		post(t, hook, "application/json", []byte(`{"spec":{"token":"x"}}`)).Status.User.Username)
}

// The API server says how long it waits, whatever a program does to the context, and the context
// ends with the answer.
func TestTheHandlersContextEndsWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var handled context.Context
		ask := func(hook *Webhook) {
			request := httptest.NewRequest(http.MethodPost, "/?timeout=3s",
				strings.NewReader(`{"spec":{"token":"x"}}`))
			request.Header.Set("Content-Type", "application/json")
			hook.ServeHTTP(httptest.NewRecorder(), request)
		}
		start := time.Now()
		ask(&Webhook{
			WithContextFunc: func(ctx context.Context, _ *http.Request) context.Context {
				return context.WithoutCancel(ctx)
			},
			Handler: HandlerFunc(func(ctx context.Context, _ Request) Response {
				<-ctx.Done()
				return Errored(context.Cause(ctx))
			}),
		})
		require.Equal(t, 3*time.Second, time.Since(start))
		ask(&Webhook{Handler: HandlerFunc(func(ctx context.Context, _ Request) Response {
			handled = ctx
			return Authenticated("", authenticationv1.UserInfo{})
		})})
		require.ErrorIs(t, handled.Err(), context.Canceled)
	})
}

// Whoever is kept out does not see the log, and whoever reads the log must not come in.
func TestTheLogSaysWhatIsWrongAndNeverHasTheToken(t *testing.T) {
	var lines []string
	defer func(before logr.Logger) { packageLog = before }(packageLog)
	packageLog = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})

	post(t, doorman, "application/json",
		[]byte(`{"metadata":{"uid":"u"},"spec":{"token":"banana"}}`))
	require.Empty(t, lines, "nothing is wrong")

	post(t, doorman, "application/json",
		[]byte(`{"kind":"Pod","metadata":{"uid":"u"},"spec":{"token":"banana"}}`))
	require.Len(t, lines, 1)
	require.Contains(t, lines[0],
		`"msg"="Answering a request that is no review" "error"="the body is a Pod`)
	require.Contains(t, lines[0], `"requestID"="u"`)

	request := httptest.NewRequest(http.MethodPost, "/",
		strings.NewReader(`{"metadata":{"uid":"u"},"spec":{"token":"banana"}}`))
	request.Header.Set("Content-Type", "application/json")
	doorman.ServeHTTP(gone{httptest.NewRecorder()}, request)
	require.Len(t, lines, 2)
	require.Contains(t, lines[1],
		`"msg"="Cannot send the answer; the API server may have stopped waiting" "error"="nobody listens"`)
	require.NotContains(t, strings.Join(lines, ""), "banana")
}

// gone is an API server that has stopped waiting.
type gone struct{ http.ResponseWriter }

func (gone) Write([]byte) (int, error) { return 0, errors.New("nobody listens") }

func FuzzATokenReviewIsAnswered(f *testing.F) {
	for _, seed := range []string{"", "{", "null", "[]", `{"spec":{"token":"apple"}}`,
		`{"spec":{"token":1}}`, `{"spec":null}`, strings.Repeat("[", 20000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var asked authenticationv1.TokenReview
		_ = json.Unmarshal(body, &asked)
		if post(t, doorman, "application/json", body).Status.Authenticated {
			require.Equal(t, "banana", asked.Spec.Token)
		}
	})
}
