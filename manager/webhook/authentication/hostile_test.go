package authentication

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
)

// A review that isn't whole, or isn't one, lets nobody in, and isn't shown to the handler: it might
// say yes to half of a token.
func TestAReviewThatIsDamagedLetsNobodyInAndIsNotShownToTheHandler(t *testing.T) {
	whole := `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1",` +
		`"metadata":{"uid":"u"},"spec":{"token":"banana"}}`
	asked := 0
	hook := &Webhook{Handler: HandlerFunc(func(context.Context, Request) Response {
		asked++
		return Authenticated("", authenticationv1.UserInfo{Username: "root"})
	})}
	bodies := []string{"null", "[]", `"banana"`, "7", whole + whole, whole + "x", "\x00",
		`{"spec":null}`, `{"spec":[]}`, `{"spec":{"token":7}}`, `{"spec":{"token":null}}`,
		strings.Replace(whole, "/v1", "/v9", 1), strings.Replace(whole, "TokenReview", "Pod", 1),
		strings.Repeat("[", 10_000), strings.Repeat(`{"spec":`, 10_000)}
	for n := range len(whole) {
		bodies = append(bodies, whole[:n])
	}
	for _, body := range bodies {
		status := post(t, hook, "application/json", []byte(body)).Status
		require.False(t, status.Authenticated, body)
		require.NotEmpty(t, status.Error, body)
		require.Empty(t, status.User, body)
	}
	for _, contentType := range []string{"", "text/html", "application/json-patch+json", "x y"} {
		require.False(t, post(t, hook, contentType, []byte(whole)).Status.Authenticated)
	}
	require.Zero(t, asked)
	require.True(t, post(t, hook, "application/json", []byte(whole)).Status.Authenticated)
}
