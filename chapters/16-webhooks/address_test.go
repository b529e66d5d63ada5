package main

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/cluster"
)

// An API server in a container that is told to call 127.0.0.1 calls itself.
func TestTheWebhookIsServedWhereTheAPIServerCanReachIt(t *testing.T) {
	nodes := []netip.Addr{netip.MustParseAddr("172.18.0.3"), netip.MustParseAddr("172.18.0.2")}
	linux := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("192.168.1.7/24"), netip.MustParsePrefix("172.18.0.1/16")}
	desktop := linux[:2]
	for _, c := range []struct {
		name       string
		mode       cluster.Mode
		chosen     string
		interfaces []netip.Prefix
		want       place
	}{
		{"embedded", cluster.Embedded, "", linux, place{"127.0.0.1", "127.0.0.1"}},
		{"kind on Linux", cluster.Kind, "", linux, place{"172.18.0.1", "172.18.0.1"}},
		{"kind with Docker Desktop", cluster.Kind, "", desktop, place{"127.0.0.1", "host.docker.internal"}},
		{"a cluster in the same network", cluster.Current, "", linux, place{"172.18.0.1", "172.18.0.1"}},
		{"the user knows it", cluster.Current, "laptop.example", desktop, place{"", "laptop.example"}},
		{"the user knows better", cluster.Kind, "172.17.0.1", linux, place{"", "172.17.0.1"}},
	} {
		got, err := placeFor(c.mode, c.chosen, nodes, c.interfaces)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
	_, err := placeFor(cluster.Current, "", nodes, desktop)
	require.ErrorContains(t, err, "set WEBHOOK_HOST")
}

func TestAnAPIServerThatCannotConnectLeadsToAnErrorThatSaysWhatToDo(t *testing.T) {
	calling := `Internal error occurred: failed calling webhook "default.stalls.market.example": failed to call webhook: Post "https://10.0.0.1:1/m?timeout=30s": `
	require.True(t, connecting(errors.New(calling+"dial tcp 10.0.0.1:1: connect: connection refused")))
	require.True(t, connecting(errors.New(calling+"context deadline exceeded")))
	require.False(t, connecting(errors.New(calling+"tls: failed to verify certificate: x509: certificate signed by unknown authority")))
	require.False(t, connecting(nil))
	require.ErrorContains(t, unreachable("https://10.0.0.1:1", errors.New("why")), "set WEBHOOK_HOST")
}
