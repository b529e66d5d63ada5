package demo

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// A server's audit log has no other name for a chapter's program. mini sends what is in its
// configuration, and without a name there, all programs are Go-http-client.
func TestAProgramSaysItsNameInEachRequest(t *testing.T) {
	for given, want := range map[string]string{
		"": rest.DefaultKubernetesUserAgent(), "chapter": "chapter",
	} {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{})
			defer server.Close()
			config := server.Config()
			config.UserAgent = given
			said := ""
			require.NoError(t, On(t.Context(), io.Discard, cluster.Of("in memory", config),
				func(_ context.Context, d *Demo) error { said = d.Config().UserAgent; return nil }))
			require.Equal(t, want, said)
		})
	}
}
