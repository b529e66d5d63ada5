package build

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/workqueue"

	lightmeta "github.com/loopwright/loopwright/docs/book/figures/light/metav1"
	lightwatch "github.com/loopwright/loopwright/docs/book/figures/light/watch"
	lightqueue "github.com/loopwright/loopwright/docs/book/figures/light/workqueue"
)

// The light interfaces of queues are client-go's: what has the methods of the one has those of the other.
var (
	_ lightqueue.TypedRateLimitingInterface[string] = workqueue.TypedRateLimitingInterface[string](nil)
	_ workqueue.TypedRateLimitingInterface[string]  = lightqueue.TypedRateLimitingInterface[string](nil)
	_ lightqueue.TypedRateLimiter[string]           = workqueue.TypedRateLimiter[string](nil)
	_ workqueue.TypedRateLimiter[string]            = lightqueue.TypedRateLimiter[string](nil)
)

var update = flag.Bool("update", false, "write the figures' pictures in the chapters instead of comparing them")

const root = "../../../.."

// The figures are compiled with a part of the library only, so their tests are, too.
func TestTheFiguresAreRightAndTheChaptersHaveTheirPictures(t *testing.T) {
	overlay, err := WriteOverlay(root, t.TempDir(), Modules...)
	require.NoError(t, err)
	arguments := []string{"test", "-overlay", overlay, "-tags", "figures"}
	for _, m := range Modules {
		arguments = append(arguments, "./figures/"+m.Name)
	}
	if *update {
		arguments = append(arguments, "-update")
	}
	command := exec.Command("go", arguments...)
	command.Dir = filepath.Join(root, "docs", "book")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Equal(t, len(Modules), strings.Count("\n"+string(output), "\nok "), "each module must have tests: %s", output)
}

// The go command says nothing about a key that does not exist, so a file that was renamed would be compiled after all,
// or a core would be another one than the library's.
func TestBothEndsOfTheOverlayAreThere(t *testing.T) {
	dir := t.TempDir()
	replace, err := Overlay(root, dir, Modules...)
	require.NoError(t, err)
	bridges, lighter := 0, 0
	for from, to := range replace {
		require.True(t, filepath.IsAbs(from), "the go command ignores relative keys: %s", from)
		switch {
		case filepath.Base(from) == "figures_bridge.go":
			bridges++
			require.NoFileExists(t, from)
			require.FileExists(t, to)
		case to == "":
			require.FileExists(t, from)
		default:
			lighter++
			require.FileExists(t, from)
			onlyImportsDiffer(t, from, to)
		}
	}
	require.Equal(t, 5, bridges)
	require.Equal(t, 4, lighter)
}

// onlyImportsDiffer holds a lighter file to the library's: all but import lines is the same.
func onlyImportsDiffer(t *testing.T, from, to string) {
	heavy, err := os.ReadFile(from)
	require.NoError(t, err)
	lighter, err := os.ReadFile(to)
	require.NoError(t, err)
	before, after := strings.Split(string(heavy), "\n"), strings.Split(string(lighter), "\n")
	require.Len(t, after, len(before))
	for i := range before {
		if before[i] != after[i] {
			require.Regexp(t, `"k8s.io/(apimachinery|client-go)/`, before[i], "%s:%d", from, i+1)
			require.Contains(t, after[i], light, "%s:%d", from, i+1)
		}
	}
}

func TestAnOverlayThatFitsNothingIsAnError(t *testing.T) {
	slice := Modules[1].Slices[0]
	for _, c := range []struct {
		name  string
		spoil func(*Slice)
		want  string
	}{
		{"a file was renamed", func(s *Slice) { s.Keep = append(slices.Clone(s.Keep), "gone.go") }, "informer has no file gone.go"},
		{"a bridge is missing", func(s *Slice) { s.Bridge = "gone/bridge.go" }, "gone/bridge.go"},
		{"an import is not there any more", func(s *Slice) { s.Light = append(slices.Clone(s.Light), Light{"k8s.io/gone", light + "gone"}) }, "no file of informer imports k8s.io/gone"},
	} {
		spoiled := slice
		c.spoil(&spoiled)
		_, err := Overlay(root, t.TempDir(), Module{Name: "m", Slices: []Slice{spoiled}})
		require.ErrorContains(t, err, c.want, c.name)
	}
}

// A light package that says something else would make another machine of the same file.
func TestTheLightPackagesHaveTheNamesOfTheHeavyOnes(t *testing.T) {
	for light, heavy := range map[lightwatch.EventType]watch.EventType{
		lightwatch.Added: watch.Added, lightwatch.Modified: watch.Modified, lightwatch.Deleted: watch.Deleted,
		lightwatch.Bookmark: watch.Bookmark, lightwatch.Error: watch.Error,
	} {
		require.Equal(t, string(heavy), string(light))
	}
	options := metav1.ListOptions{ResourceVersion: "1", AllowWatchBookmarks: true}
	require.Equal(t, lightmeta.ListOptions{ResourceVersion: options.ResourceVersion, AllowWatchBookmarks: options.AllowWatchBookmarks},
		lightmeta.ListOptions{ResourceVersion: "1", AllowWatchBookmarks: true})
}

// Bridges are for figures only: in an ordinary build they would be exported to all users of the library.
func TestBridgesAreNoPartOfOtherBuilds(t *testing.T) {
	found := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(root, filepath.FromSlash(bridges)), func(path string, entry os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			text, failed := os.ReadFile(path)
			require.NoError(t, failed)
			require.True(t, strings.HasPrefix(string(text), "//go:build figures\n"), path)
			found++
		}
		return err
	}))
	require.Equal(t, 5, found)
}
