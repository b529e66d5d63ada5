package course

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const originalsMarker = "<!-- course:originals -->\n<!-- /course:originals -->\n"

// withMirrors is the tiny tree with a map: two of our files share an original, and one has two of them.
func withMirrors(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{
		"docs/generated/originals.md": originalsMarker,
		"lib/sum.go":                  "package lib\n",
		"lib/sum_more.go":             "package lib\n",
		"lib/mean.go":                 "package lib\n",
	}
	maps.Copy(files, changed(t, "chapters/01-sum/chapter.yaml", "file: pkg/sum.go}", "file: pkg/sum.go, ours: [lib/sum*.go]}"))
	files["chapters/02-mean/chapter.yaml"] = tiny["chapters/02-mean/chapter.yaml"] + "upstream:\n" +
		"  - {module: example.org/original, version: v1.2.0, file: pkg/sum.go, ours: [lib/mean.go]}\n" +
		"  - {module: k8s.io/klog/v2, version: v2.1.0, file: klog.go, ours: [lib/mean.go, lib/mean.go]}\n" +
		"  - {module: sigs.k8s.io/other, version: v0.0.0-20260626114624-be93311217bd, file: a/b.go}\n"
	return files
}

// A reader of the original asks where it is taught, and a reader of ours what it stands for.
func TestTheMapOfOriginalsIsMadeOfWhatTheChaptersName(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, withMirrors(t))
	_, err := r.Sync()
	require.NoError(t, err)
	assert.Equal(t, `<!-- course:originals -->

## From the originals to the chapters

### example.org/Replaced v0.3.0

| The original | Rebuilt in | Also mentioned in |
|---|---|---|
| [x.go](https://pkg.go.dev/example.org/Replaced@v0.3.0) |  | [1 Sum](../../chapters/01-sum/README.md) |

### example.org/original v1.2.0

| The original | Rebuilt in | Also mentioned in |
|---|---|---|
| [pkg/sum.go](https://pkg.go.dev/example.org/original@v1.2.0) | [1 Sum](../../chapters/01-sum/README.md)<br>[2 Mean](../../chapters/02-mean/README.md) |  |

### k8s.io/klog/v2 v2.1.0

| The original | Rebuilt in | Also mentioned in |
|---|---|---|
| [klog.go](https://github.com/kubernetes/klog/blob/v2.1.0/klog.go) | [2 Mean](../../chapters/02-mean/README.md) |  |

### sigs.k8s.io/other v0.0.0-20260626114624-be93311217bd

| The original | Rebuilt in | Also mentioned in |
|---|---|---|
| [a/b.go](https://github.com/kubernetes-sigs/other/blob/be93311217bd/a/b.go) |  | [2 Mean](../../chapters/02-mean/README.md) |

## From our files to the originals

### 1 Sum

| Ours | The original |
|---|---|
| [lib/sum.go](../../lib/sum.go) | original v1.2.0 [pkg/sum.go](https://pkg.go.dev/example.org/original@v1.2.0) |
| [lib/sum_more.go](../../lib/sum_more.go) | original v1.2.0 [pkg/sum.go](https://pkg.go.dev/example.org/original@v1.2.0) |

### 2 Mean

| Ours | The original |
|---|---|
| [lib/mean.go](../../lib/mean.go) | original v1.2.0 [pkg/sum.go](https://pkg.go.dev/example.org/original@v1.2.0)<br>klog v2.1.0 [klog.go](https://github.com/kubernetes/klog/blob/v2.1.0/klog.go) |

<!-- /course:originals -->
`, read(t, r, "docs/generated/originals.md"))
}

// A map that is not checked says where a file was last year.
func TestTheMapOfOriginalsIsOutOfDateWhenAFileIsNew(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, withMirrors(t))
	_, err := r.Sync()
	require.NoError(t, err)
	put(t, r.Root, "lib/sum_new.go", "package lib\n")
	problems, err := r.checkText()
	require.NoError(t, err)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "docs/generated/originals.md does not show the code as it is: run `make sync`")
	assert.Contains(t, problems[0], "+| [lib/sum_new.go](../../lib/sum_new.go) | original v1.2.0 ")
}

func TestAMapThatLeadsNowhereIsReported(t *testing.T) {
	t.Parallel()
	one := "chapters/01-sum/chapter.yaml"
	for _, c := range []struct{ ours, want string }{
		{"lib/gone.go", "chapters/01-sum/chapter.yaml, upstream pkg/sum.go: ours lists lib/gone.go, which is no file of the library"},
		{"mini/sum_test.go", "ours lists mini/sum_test.go, which is no file of the library (tests do not count)"},
		{"'lib/[.go'", "ours lists lib/[.go, which is no file of the library"},
		{"mini/*.go]}\n  - {module: example.org/original, version: v1.2.0, file: pkg/sum.go, ours: [mini/*.go", "chapters/01-sum/chapter.yaml lists upstream pkg/sum.go of example.org/original twice"},
	} {
		files := changed(t, one, "file: pkg/sum.go}", "file: pkg/sum.go, ours: ["+c.ours+"]}")
		files["docs/generated/originals.md"] = originalsMarker
		r := tinyTree(t, files)
		problems, err := r.CheckStructure(t.Context())
		require.NoError(t, err)
		require.Len(t, problems, 1, c.ours)
		assert.Contains(t, problems[0], c.want)
		_, err = r.Sync()
		require.ErrorContains(t, err, "docs/generated/originals.md:1: course:originals: ")
		assert.ErrorContains(t, err, c.want)
		assert.Equal(t, originalsMarker, read(t, r, "docs/generated/originals.md"), "what cannot be filled in stays as it is")
	}
}

func TestAnOriginalIsLinkedToWhereItCanBeRead(t *testing.T) {
	for module, want := range map[string]string{
		"k8s.io/client-go":               "https://github.com/kubernetes/client-go/blob/v1.2.3/a/b.go",
		"sigs.k8s.io/controller-runtime": "https://github.com/kubernetes-sigs/controller-runtime/blob/v1.2.3/a/b.go",
		"golang.org/x/time":              "https://github.com/golang/time/blob/v1.2.3/a/b.go",
		"k8s.io/gengo/v2":                "https://github.com/kubernetes/gengo/blob/v1.2.3/a/b.go",
		"sigs.k8s.io/kustomize/api":      "https://pkg.go.dev/sigs.k8s.io/kustomize/api@v1.2.3", // its tags are kustomize's business
		"example.org/other":              "https://pkg.go.dev/example.org/other@v1.2.3",
	} {
		assert.Equal(t, want, Upstream{Module: module, Version: "v1.2.3", File: "a/b.go"}.URL())
	}
}
