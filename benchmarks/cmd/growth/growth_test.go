package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/benchmarks/growth"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// The command runs itself for each case, so the tests' binary must be able to be that process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-part" {
		main()
		return
	}
	silence()
	os.Exit(m.Run())
}

// serveTest serves objects, and sees to it that everybody gets them in the same way. A side that gets JSON where another gets
// protobuf, or a list where another gets a stream, has another job.
func serveTest(t *testing.T, f form, objects int) string {
	t.Helper()
	others := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{{Group: widgetKind.Group, Version: widgetKind.Version, Kind: widgetKind.Kind}}})
	t.Cleanup(others.Close)
	c, err := newCollection(f, objects, others)
	require.NoError(t, err)
	want := map[string]string{"typed": runtime.ContentTypeJSON}[f.name] // a cluster has no protobuf for custom resources
	want = "sendInitialEvents=true: " + cmp.Or(want, runtime.ContentTypeProtobuf+";stream=watch")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "/"+f.resource.Resource) {
			assert.Equal(t, want, "sendInitialEvents="+r.URL.Query().Get("sendInitialEvents")+": "+w.Header().Get("Content-Type"))
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close() // waits for the last request
	})
	return server.URL
}

// A figure of a library that had only a part of the objects would be worth nothing.
func TestAllLibrariesSeeAllObjectsAndWhatHasChanged(t *testing.T) {
	const objects = 300
	for _, f := range forms {
		for _, s := range sides {
			t.Run(fmt.Sprint(f.name, "/", s.name), func(t *testing.T) {
				t.Parallel()
				m, err := newMeasured(s, f, objects, serveTest(t, f, objects), "")
				require.NoError(t, err)
				require.NoError(t, m.start())
				require.EqualValues(t, objects, m.progress.reconciles.Load(), "each once")
				require.NoError(t, m.going.read(namespaceOf(1), nameOf(1)))

				require.NoError(t, m.comeBack())
				require.Error(t, m.going.read(namespaceOf(1), nameOf(1)), "it was deleted")
				require.NoError(t, m.going.read(namespaceOf(objects), nameOf(objects)), "it's new")
				require.NoError(t, m.going.stop())
			})
		}
	}
}

// The limit is drawn beside the sides, so it must be about the same objects.
func TestTheLimitDecodesTheObjectsThatTheSidesHave(t *testing.T) {
	for _, f := range forms {
		url := serveTest(t, f, 100)
		require.NoError(t, measureDecoding(f, 100, url), f.name)
	}
}

func TestAnObjectOfAPatternIsWholeAndHasItsNumber(t *testing.T) {
	for _, f := range forms {
		c, err := newCollection(f, 100, nil)
		require.NoError(t, err)
		for mediaType, e := range c.encodings {
			frame := e.added.appendTo(nil, 1234567, 3001234567)
			require.Len(t, frame, len(e.added.encoded))
			for _, gap := range []string{anyNumber, anyVersion, anyNamespace} {
				require.NotContains(t, string(frame), gap, mediaType)
			}
			require.Contains(t, string(frame), nameOf(1234567), mediaType)
			require.Contains(t, string(frame), namespaceOf(1234567), mediaType)
			require.Contains(t, string(frame), "3001234567", mediaType)
		}
	}
}

func TestAWorldChangesInAnHour(t *testing.T) {
	before, after := world{1000, atStart}, world{1000, hourLater}
	changed, deleted, created := 0, 0, 0
	for number := range after.end() {
		switch was, is := before.version(number), after.version(number); {
		case was == 0 && is != 0:
			created++
		case was != 0 && is == 0:
			deleted++
		case was != is:
			changed++
			require.Greater(t, is, was)
		}
		require.Less(t, after.version(number), after.now(), "no object is newer than its list")
	}
	require.Equal(t, []int{100, 10, 10}, []int{changed, deleted, created})
}

// Whoever comes first has a cooler machine, or one with more free memory.
func TestTheSecondRunHasTheSidesInTheOppositeOrder(t *testing.T) {
	first, second := cases(1, []int{100, 200}, stream, noServer), cases(2, []int{100, 200}, stream, noServer)
	require.Len(t, second, len(first))
	require.Equal(t, []string{"our manager", "client-go"}, []string{first[0].Side, first[3].Side})
	require.Equal(t, []int{100, 200}, []int{second[0].Objects, second[len(second)-1].Objects}, "small ones first: a stopped run has a start of all")
	place := func(all []growth.Case, side string) int {
		return slices.IndexFunc(all, func(c growth.Case) bool { return c.Form == "pods" && c.Side == side })
	}
	require.Less(t, place(first, "our informer"), place(first, "client-go"))
	require.Greater(t, place(second, "our informer"), place(second, "client-go"))
}

func tinySettings(t *testing.T, match string) settings {
	return settings{file: filepath.Join(t.TempDir(), "new", "growth.csv"), sizes: []int{100, 200}, runs: 1, patience: time.Hour, match: regexp.MustCompile(match)}
}

// A run takes hours. One that was stopped, or whose machine went away, must not begin at the first case again.
func TestACommandThatWasStoppedGoesOnWhereItWas(t *testing.T) {
	s := tinySettings(t, "^stream (metadata 100 our informer|pods 100 decoding)|^queue delayed 100 (our queue|a plain map)")
	var out bytes.Buffer
	require.NoError(t, play(t.Context(), s, &out), "%s", &out)
	table, err := growth.Load(s.file)
	require.NoError(t, err)
	informer := growth.Case{Run: 1, Server: stream, Form: "metadata", Objects: 100, Side: "our informer"}
	for _, figure := range []string{"first-sec", "all-cpu-sec", "peak-rss-B", "object-B", "catch-up-sec", "longest-read-sec", growth.Took} {
		value, found := table.Value(informer, figure)
		require.True(t, found, figure)
		require.Positive(t, value, figure)
	}
	seen, _ := table.Value(informer, growth.Seen)
	require.InDelta(t, 100, seen, 0)
	reconciles, _ := table.Value(informer, "catch-up-reconciles")
	require.InDelta(t, 12, reconciles, 0, "10 have changed, one was deleted, and one is new")
	_, found := table.Value(growth.Case{Run: 1, Server: noServer, Form: "delayed", Objects: 100, Side: "our queue"}, "fire-sec")
	require.True(t, found)
	_, found = table.Value(growth.Case{Run: 1, Server: noServer, Form: "delayed", Objects: 100, Side: growth.Map}, "add-sec")
	require.True(t, found)
	_, found = table.Value(growth.Case{Run: 1, Server: stream, Form: "pods", Objects: 100, Side: growth.Limit}, "all-sec")
	require.True(t, found)

	out.Reset()
	require.NoError(t, play(t.Context(), s, &out))
	require.NotContains(t, out.String(), "run 1", "all was measured before")
}

// The machine's part is that of the memory which the sides have needed.
func TestTheMachineIsMeasuredWithTheMemoryOfTheSides(t *testing.T) {
	s := tinySettings(t, "^machine")
	require.ErrorContains(t, play(t.Context(), s, io.Discard), "measure one first")

	informer := growth.Case{Run: 1, Server: stream, Form: "pods", Objects: 200, Side: "our informer"}
	table := growth.Table{Results: []growth.Result{{Case: informer, Figure: "catch-up-peak-rss-B", Value: 1.2e9}}}
	require.NoError(t, table.Save(s.file))
	require.NoError(t, play(t.Context(), s, io.Discard))
	table, err := growth.Load(s.file)
	require.NoError(t, err)
	machine := growth.Case{Run: 1, Server: growth.Machine, Form: "memory", Objects: 200, Side: "touching"}
	for number := 1; number <= 2; number++ {
		took, found := table.Value(machine, growth.Gigabyte(number))
		require.True(t, found, number)
		require.Positive(t, took)
	}
	_, found := table.Value(machine, growth.Gigabyte(3))
	require.False(t, found)
}

// A million Pods may not fit. What's known of the case by then is kept, and larger ones aren't tried.
func TestAProcessThatGrowsTooLargeIsEnded(t *testing.T) {
	if freeMemory() == 0 {
		t.Skip("this system doesn't say how much memory a process has")
	}
	s := tinySettings(t, "^stream pods .* client-go")
	s.memory = 1e6
	var out bytes.Buffer
	require.NoError(t, play(t.Context(), s, &out), "%s", &out)
	table, err := growth.Load(s.file)
	require.NoError(t, err)
	limit, found := table.Value(growth.Case{Run: 1, Server: stream, Form: "pods", Objects: 100, Side: "client-go"}, growth.Outgrew)
	require.True(t, found)
	require.InDelta(t, 1e6, limit, 0)
	require.Contains(t, out.String(), "stream, pods, 200, client-go: fewer objects took more than 0.0 GB")
}

// One process that hangs mustn't cost you the night.
func TestACaseThatTakesTooLongIsEndedAndTheOthersArePlayed(t *testing.T) {
	s := tinySettings(t, "^stream metadata (100|200) our informer")
	s.patience = time.Millisecond
	s.report = t.TempDir()
	var out bytes.Buffer
	err := play(t.Context(), s, &out)
	require.ErrorContains(t, err, "run 1, stream, metadata, 100, our informer: it took more than 1ms")
	require.ErrorContains(t, err, "run 1, stream, metadata, 200, our informer: it took more than 1ms")
	require.FileExists(t, filepath.Join(s.report, "generated", "growth.csv"), "what there is can be read")
}

func TestSizesThatCannotBeMeasuredAreRefused(t *testing.T) {
	for _, sizes := range []string{"", "50", "150", "many", "10000000"} {
		require.ErrorContains(t, settings{}.run(t.Context(), sizes, ""), "isn't a multiple of 100")
	}
	require.ErrorContains(t, settings{}.run(t.Context(), "100", "("), "-run: ")
}
