package useragent

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

func TestTheProgramsOwnUserAgentStays(t *testing.T) {
	config := &rest.Config{UserAgent: "shop"}
	require.Equal(t, "shop/sharding", Of(config, "sharding").UserAgent)
	require.Equal(t, "shop", config.UserAgent, "the caller's config is the caller's")
	require.Equal(t, rest.DefaultKubernetesUserAgent()+"/sharding", Of(&rest.Config{}, "sharding").UserAgent)
}
