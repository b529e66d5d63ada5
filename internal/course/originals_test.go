package course

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const originalsMarker = "<!-- course:originals -->\n<!-- /course:originals -->\n"

// withMirrors is the tiny tree with a map: two of our files share an original, and one has two of them.
func withMirrors(t *testing.T, changes map[string]string) map[string]string {
	t.Helper()
	files := map[string]string{
		"docs/originals.md": originalsMarker,
		"sum/more.go":       "package sum\n\nfunc plain() {}\n\n// More adds | and *more*. It is never read.\ntype More struct{}\n",
		"sum/none.go":       "package sum\n",
	}
	for name, text := range changed(t, "chapters/01-sum/README.md", "file: pkg/sum.go}", "file: pkg/sum.go, ours: [sum/sum*.go]}") {
		files[name] = text
	}
	for name, text := range changed(t, "chapters/02-mean/README.md", "- mean/mean.go\n", "- mean/mean.go\nupstream:\n"+
		"  - {module: example.org/original, version: v1.2.0, file: pkg/sum.go, ours: [mean/*.go]}\n"+
		"  - {module: k8s.io/klog/v2, version: v2.1.0, file: klog.go, ours: [mean/mean.go, mean/mean.go]}\n"+
		"  - {module: sigs.k8s.io/other, version: v0.0.0-20260626114624-be93311217bd, file: a/b.go}\n") {
		files[name] = text
	}
	for name, text := range changes {
		files[name] = text
	}
	return files
}

// A reader of the original asks where it is taught, and a reader of ours what it stands for.
func TestTheMapOfOriginalsIsMadeOfTheFrontMatter(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, withMirrors(t, nil))
	_, err := r.Sync()
	require.NoError(t, err)
	assert.Equal(t, `<!-- course:originals -->

## From the originals to the chapters

### example.org/Replaced v0.3.0

| The original | Rebuilt in | Also mentioned in |
|---|---|---|
| [x.go](https://pkg.go.dev/example.org/Replaced@v0.3.0) |  | [1 Sum](../chapters/01-sum/README.md) |

### example.org/original v1.2.0

| The original | Rebuilt in | Also mentioned in |
|---|---|---|
| [pkg/sum.go](https://pkg.go.dev/example.org/original@v1.2.0) | [1 Sum](../chapters/01-sum/README.md)<br>[2 Mean](../chapters/02-mean/README.md) |  |

### k8s.io/klog/v2 v2.1.0

| The original | Rebuilt in | Also mentioned in |
|---|---|---|
| [klog.go](https://github.com/kubernetes/klog/blob/v2.1.0/klog.go) | [2 Mean](../chapters/02-mean/README.md) |  |

### sigs.k8s.io/other v0.0.0-20260626114624-be93311217bd

| The original | Rebuilt in | Also mentioned in |
|---|---|---|
| [a/b.go](https://github.com/kubernetes-sigs/other/blob/be93311217bd/a/b.go) |  | [2 Mean](../chapters/02-mean/README.md) |

## From our files to the originals

### 1 Sum

| Ours | The original |
|---|---|
| [sum/more.go](../sum/more.go) | *ours alone:* More adds \| and \*more\*. |
| [sum/none.go](../sum/none.go) | *ours alone* |
| [sum/sum.go](../sum/sum.go) | original v1.2.0 [pkg/sum.go](https://pkg.go.dev/example.org/original@v1.2.0) |

### 2 Mean

| Ours | The original |
|---|---|
| [mean/mean.go](../mean/mean.go) | original v1.2.0 [pkg/sum.go](https://pkg.go.dev/example.org/original@v1.2.0)<br>klog v2.1.0 [klog.go](https://github.com/kubernetes/klog/blob/v2.1.0/klog.go) |

<!-- /course:originals -->
`, read(t, r, "docs/originals.md"))
}

// A map that is not checked says where a file was last year.
func TestTheMapOfOriginalsIsOutOfDateWhenAFileIsNew(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, withMirrors(t, nil))
	_, err := r.Sync()
	require.NoError(t, err)
	put(t, r.Root, "sum/sum_new.go", "package sum\n")
	problems, err := r.checkText()
	require.NoError(t, err)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "docs/originals.md does not show the code as it is: run `make sync`")
	assert.Contains(t, problems[0], "+| [sum/sum_new.go](../sum/sum_new.go) | original v1.2.0 ")
}

func TestAMapThatLeadsNowhereIsReported(t *testing.T) {
	t.Parallel()
	one := "chapters/01-sum/README.md"
	for _, c := range []struct{ ours, want string }{
		{"sum/gone.go", "chapters/01-sum/README.md, upstream pkg/sum.go: ours lists sum/gone.go, which is no library file of this chapter"},
		{"mean/mean.go", "ours lists mean/mean.go, which is no library file of this chapter"}, // it is chapter 2's
		{"sum/sum_test.go", "ours lists sum/sum_test.go, which is no library file of this chapter (tests do not count)"},
		{"'sum/[.go'", "ours lists sum/[.go, which is no library file of this chapter"},
		{"sum/*.go]}\n  - {module: example.org/original, version: v1.2.0, file: pkg/sum.go, ours: [sum/*.go", "chapters/01-sum/README.md lists upstream pkg/sum.go of example.org/original twice"},
	} {
		files := changed(t, one, "file: pkg/sum.go}", "file: pkg/sum.go, ours: ["+c.ours+"]}")
		files["docs/originals.md"] = originalsMarker
		r := tinyTree(t, files)
		problems, err := r.CheckStructure(t.Context())
		require.NoError(t, err)
		require.Len(t, problems, 1, c.ours)
		assert.Contains(t, problems[0], c.want)
		_, err = r.Sync()
		require.ErrorContains(t, err, "docs/originals.md:1: course:originals: ")
		assert.ErrorContains(t, err, c.want)
		assert.Equal(t, originalsMarker, read(t, r, "docs/originals.md"), "what cannot be filled in stays as it is")
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
