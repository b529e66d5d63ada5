package healthz

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kubelet must not take a process for healthy whose check panics, and one check must not end
// the process, or the other checks.
func TestACheckThatPanicsFailsItsProbeAndNoOther(t *testing.T) {
	server := httptest.NewUnstartedServer(&Handler{Checks: map[string]Checker{
		"disk": func(*http.Request) error { panic("slipped") }, "net": Ping}})
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	defer server.Close()
	for _, path := range []string{"/", "/disk", "/?verbose"} {
		_, err := http.Get(server.URL + path)
		require.Error(t, err, path)
	}
	for _, path := range []string{"/net", "/?exclude=disk"} {
		answer, err := http.Get(server.URL + path)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		require.NoError(t, answer.Body.Close())
	}
}

// The kubelet gives up after a second. A check that looks at its context doesn't go on.
func TestACheckLearnsThatItsClientHasGone(t *testing.T) {
	began := make(chan struct{})
	causes := make(chan error, 1)
	server := httptest.NewServer(&Handler{Checks: map[string]Checker{
		"slow": func(req *http.Request) error {
			close(began)
			<-req.Context().Done()
			causes <- req.Context().Err()
			return req.Context().Err()
		}}})
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	go func() { <-began; leave() }()
	_, err = http.DefaultClient.Do(request)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, <-causes, context.Canceled)
}
