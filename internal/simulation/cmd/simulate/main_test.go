package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOptionsThatDoNotGoTogetherAreRefused(t *testing.T) {
	const all = -1 // instead of one seed
	for _, o := range []options{
		{seed: all}, {seed: all, mistakes: true}, {seed: 7, mini: true, overlay: "my.json"},
		{seed: all, originals: true, page: "page.md"},
	} {
		require.NoError(t, o.check(0), "%+v", o)
		require.ErrorContains(t, o.check(1), "no arguments")
	}
	for _, o := range []options{
		{seed: all, originals: true}, {seed: all, mini: true}, {seed: all, overlay: "my.json"}, {seed: 7},
	} {
		o.mistakes = true
		require.ErrorContains(t, o.check(0), "-mistakes are the library's", "%+v", o)
	}
	for _, o := range []options{
		{seed: all}, {seed: all, originals: true, mini: true}, {seed: 7, originals: true},
		{seed: all, originals: true, first: 1}, {seed: all, originals: true, only: "1,2"},
	} {
		o.page = "page.md"
		require.ErrorContains(t, o.check(0), "-write needs -originals", "%+v", o)
	}
}
