package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A chapter without one would disappoint whoever types make bench-N, and so would one that ends with an error. Each is
// played once; how long it takes is no matter.
func TestEachChapterHasABenchmarkThatRuns(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	chapters, err := filepath.Glob(filepath.Join("..", "chapters", "[0-9]*-*"))
	require.NoError(t, err)
	require.NotEmpty(t, chapters)
	for _, chapter := range chapters {
		name := filepath.Base(chapter)
		text, err := os.ReadFile(filepath.Join("chapters", "ch"+name[:2]+"_test.go"))
		require.NoError(t, err, name)
		require.Contains(t, string(text), fmt.Sprintf("func Benchmark%s(", name[:2]))
	}
	output, err := measure(t.Context(), ".", "1x", "-short")
	require.NoError(t, err)
	var all table
	require.NoError(t, all.add(output, ""))
	require.GreaterOrEqual(t, len(all.questions), len(chapters))
	for _, q := range all.questions {
		require.Contains(t, q.who, "mini", q.text)
	}
}

// The reader's column has to be the reader's code.
func TestALearnersFileHasAColumnOfItsOwn(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	theirs, err := filepath.Abs(filepath.Join("..", "mini", "finalizer.go"))
	require.NoError(t, err)
	text, err := os.ReadFile(theirs)
	require.NoError(t, err)
	play := func(text string) (string, error) {
		dir := t.TempDir()
		mine, overlay := filepath.Join(dir, "finalizer.go"), filepath.Join(dir, "overlay.json")
		require.NoError(t, os.WriteFile(mine, []byte(text), 0o600))
		require.NoError(t, os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, theirs, mine), 0o600))
		var out strings.Builder
		err := run(t.Context(), &out, 15, overlay, "1x")
		return out.String(), err
	}
	out, err := play(string(text))
	require.NoError(t, err)
	require.Regexp(t, `mini +library +controller-runtime +yours\n +finalizers=1( +\S+s){4}\n`, out)
	_, err = play(strings.Replace(string(text), "return true", "return false", 1))
	require.ErrorContains(t, err, "it wasn't there", "its AddFinalizer is wrong")
}

// All chapters are measured once before any is measured again: a minute in which the machine is slow mustn't hit the same chapter
// twice.
func TestTheTextsGetWhatTwoRunsHaveMeasured(t *testing.T) {
	dir := t.TempDir()
	file := func(chapter string) string { return filepath.Join(dir, chapter, "testdata", "bench.txt") }
	for _, chapter := range []string{"15-finalizer", "24-rolling"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file(chapter)), 0o755))
	}
	var measured []int
	measure := func(chapter int) (*table, error) {
		measured = append(measured, chapter)
		found := &table{}
		found.question("How long does it take?").add("pods=1", "mini", float64(chapter)+float64(len(measured)))
		return found, nil
	}
	var out strings.Builder
	require.NoError(t, writeTexts(&out, dir, 0, measure))
	require.Equal(t, []int{15, 24, 15, 24}, measured)
	require.Equal(t, "chapter 15: measured once\nchapter 24: measured once\n"+
		"chapter 15: measured twice; 0 rows left out\nchapter 24: measured twice; 0 rows left out\n", out.String())
	written, err := os.ReadFile(file("15-finalizer"))
	require.NoError(t, err)
	require.Contains(t, string(written), "pods=1    17s\n", "the mean of 16 and 18")

	require.NoError(t, os.Remove(file("24-rolling")))
	require.NoError(t, writeTexts(io.Discard, dir, 15, measure))
	require.NoFileExists(t, file("24-rolling"), "it wasn't asked for")
	require.ErrorContains(t, writeTexts(io.Discard, t.TempDir(), 0, measure), "has no chapters")
	unknown := errors.New("it can't be measured")
	require.ErrorIs(t, writeTexts(io.Discard, dir, 0, func(int) (*table, error) { return nil, unknown }), unknown)
}

func TestAChapterWithoutABenchmarkIsAnError(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	require.ErrorContains(t, run(t.Context(), io.Discard, 99, "", "1x"), "chapter 99 has no benchmark yet")
}
