package differential

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// A scenario is a little story that is played to the fake and to the real API
// server. What the client sees, with names, times and versions made
// comparable, must be the same.
type scenario struct {
	name string
	play func(*client)
	// differs says why the two answer differently, on purpose. The transcripts
	// must then really differ: an entry that is no longer true is an error.
	differs string
}

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// widgets, gadgets and things are the custom resources of the scenarios. The
// definitions for the real server say the same.
var customKinds = []fakeapi.Kind{
	{Group: "example.com", Version: "v1", Kind: "Widget", ShortNames: []string{"wd"}, Status: true,
		Scale:            &fakeapi.Scale{SpecReplicas: ".spec.replicas", StatusReplicas: ".status.replicas", LabelSelector: ".status.selector"},
		SelectableFields: []string{".spec.color"}},
	{Group: "example.com", Version: "v1", Kind: "Gadget", ClusterScoped: true},
	{Group: "example.com", Version: "v1", Kind: "Thing", Example: &thing{}},
}

func TestTheFakeAnswersAsTheRealAPIServerDoes(t *testing.T) {
	real := clustertest.Config(t)
	createDefinitions(t, real)
	var all []scenario
	for _, group := range [][]scenario{createScenarios, updateScenarios, generationScenarios, statusScenarios, patchScenarios,
		applyScenarios, deleteScenarios, namespaceScenarios, listScenarios, watchScenarios, protocolScenarios, subresourceScenarios, schemaScenarios, validationScenarios, refusalScenarios, typedScenarios, shardScenarios, differenceScenarios, compactingScenarios} {
		all = append(all, group...)
	}
	compactingAt := len(all) - len(compactingScenarios)
	compareAll(t, real, fakeapi.Options{}, all, func(i int) bool { return i < compactingAt })
}

// Kubernetes has shards from 1.36 on, behind a gate that's off: shardScenarios are played without it
// above, and here with it.
func TestTheFakeSelectsShardsAsTheRealAPIServerDoes(t *testing.T) {
	real := clustertest.WithGates(t, "ShardedListAndWatch").RESTConfig()
	createDefinitions(t, real)
	compareAll(t, real, fakeapi.Options{ShardedListAndWatch: true},
		slices.Concat(shardScenarios, shardDifferenceScenarios), func(int) bool { return false })
}

// compareAll plays scenarios to the real server and to a fake with these options. settled says in
// which scenarios the real server's controllers have to have filled the namespace before.
func compareAll(
	t *testing.T, real *rest.Config, options fakeapi.Options, all []scenario, settled func(i int) bool,
) {
	report := make([]string, 0, len(all))
	for i, sc := range all {
		t.Run(sc.name, func(t *testing.T) {
			verdict := "differs"
			defer func() { report = append(report, fmt.Sprintf("%-8s %s", verdict, sc.name)) }()
			ns := fmt.Sprintf("diff-%d-%d", os.Getpid(), i)
			want := playOnReal(t, real, ns, sc, settled(i))
			got := playOnFake(t, ns, sc, options)
			if sc.differs == "" {
				require.Empty(t, compare(want, got), "the fake must show what the real server shows")
				verdict = fmt.Sprintf("same %3d", len(got))
				return
			}
			require.NotEqual(t, want, got, "the two agree by now: remove the entry from the table of differences")
			verdict = "on purp."
		})
	}
	sort.Strings(report)
	t.Logf("%d scenarios; the number is that of compared lines:\n%s", len(all), strings.Join(report, "\n"))
}

// compare lists the lines that differ: - is the real server's, + the fake's.
func compare(want, got []string) string {
	var out []string
	for i := range max(len(want), len(got)) {
		var w, g string
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			out = append(out, "- "+w, "+ "+g)
		}
	}
	return strings.Join(out, "\n")
}

func playOnReal(t *testing.T, cfg *rest.Config, ns string, sc scenario, settled bool) []string {
	return play(t, cfg, ns, sc, settled, func() {
		_, err := clustertest.Shared(t).Compact(t.Context())
		require.NoError(t, err)
		// The API server has snapshots of its own, which only a restart loses.
		require.NoError(t, clustertest.Shared(t).Restart(t.Context(), cluster.APIServer, 0))
	})
}

func playOnFake(t *testing.T, ns string, sc scenario, options fakeapi.Options) (lines []string) {
	options.Kinds, options.FinalizeNamespaces = customKinds, true
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(options)
		defer server.Close()
		lines = play(t, server.Config(), ns, sc, false, server.CompactAll)
	})
	return lines
}

func play(t *testing.T, cfg *rest.Config, ns string, sc scenario, settled bool, compact func()) []string {
	hc, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &client{t: t, ctx: ctx, http: hc, cfg: cfg, base: cfg.Host, ns: ns, norm: newNormaliser(ns), compact: compact}
	c.silently(http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"{ns}"}}`)
	defer c.silently(http.MethodDelete, "/api/v1/namespaces/{ns}", "")
	if settled {
		c.waitFor("/api/v1/namespaces/{ns}/configmaps/kube-root-ca.crt")
		c.waitFor("/api/v1/namespaces/{ns}/serviceaccounts/default")
	}
	sc.play(c)
	for _, w := range c.watches {
		w.stop()
	}
	hc.CloseIdleConnections()
	return c.lines
}

// waitFor waits for what controllers of a real cluster put into a namespace.
func (c *client) waitFor(path string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		return c.silently(http.MethodGet, path, "").code == http.StatusOK
	}, eventually, pollEvery, path)
}

func createDefinitions(t *testing.T, cfg *rest.Config) {
	hc, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	c := &client{t: t, ctx: context.Background(), http: hc, base: cfg.Host, norm: newNormaliser("")}
	open := `"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{` +
		`"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"color":{"type":"string"},"replicas":{"type":"integer"}}},` +
		`"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"replicas":{"type":"integer"},"selector":{"type":"string"}}}}}}`
	for _, def := range []string{
		`{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList","shortNames":["wd"]},
		 "versions":[{"name":"v1","served":true,"storage":true,"selectableFields":[{"jsonPath":".spec.color"}],
		 "subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},` + open + `}]}}`,
		`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","listKind":"GadgetList"},
		 "versions":[{"name":"v1","served":true,"storage":true,` + open + `}]}}`,
		thingDefinition,
	} {
		r := c.silently(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", def)
		require.Equal(t, http.StatusCreated, r.code, string(r.raw))
	}
	require.Eventually(t, func() bool {
		return c.silently(http.MethodGet, "/apis/example.com/v1/widgets", "").code == http.StatusOK &&
			c.silently(http.MethodGet, "/apis/example.com/v1/things", "").code == http.StatusOK &&
			c.silently(http.MethodGet, "/apis/example.com/v1/gadgets", "").code == http.StatusOK
	}, eventually, pollEvery)
}
