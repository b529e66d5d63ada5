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

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
)

func post(t testing.TB, hook http.Handler, contentType string, body []byte) (review authenticationv1.TokenReview) {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	answer := httptest.NewRecorder()
	hook.ServeHTTP(answer, request)
	require.Equal(t, http.StatusOK, answer.Code)
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
		{"banana", authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "bob"}}},
		{"apple", authenticationv1.TokenReviewStatus{Error: "wrong token"}},
		{"broken", authenticationv1.TokenReviewStatus{Error: "the list of tokens is lost"}},
		{"", authenticationv1.TokenReviewStatus{Error: "token is empty"}},
	} {
		for _, version := range []string{"v1", "v1beta1"} {
			body := `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/` + version + `","metadata":{"uid":"u"},"spec":{"token":"` + c.token + `"}}`
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
		{"text/plain", good, "contentType=text/plain, expected application/json"},
		{"application/json", `{"kind":"Pod","apiVersion":"v1","spec":{"token":"banana"}}`, "the body is a Pod of version v1"},
		{"application/json", good + strings.Repeat(" ", maxRequestSize), "request entity is too large; limit is 1048576 bytes"},
	} {
		status := post(t, doorman, c.contentType, []byte(c.body)).Status
		require.False(t, status.Authenticated)
		require.Contains(t, status.Error, c.want)
	}
}

func TestAnAnswerMayNameAudiences(t *testing.T) {
	response := ReviewResponse(true, authenticationv1.UserInfo{Username: "bob"}, "", "shop", "market")
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
	require.Equal(t, "application/json", post(t, hook, "application/json", []byte(`{"spec":{"token":"x"}}`)).Status.User.Username)
}

func FuzzATokenReviewIsAnswered(f *testing.F) {
	for _, seed := range []string{"", "{", "null", "[]", `{"spec":{"token":"apple"}}`, `{"spec":{"token":1}}`, `{"spec":null}`, strings.Repeat("[", 20000)} {
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
