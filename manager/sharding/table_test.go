package sharding

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Another replica reads what this one wrote.
func TestATableIsReadAsItWasWritten(t *testing.T) {
	was := table{7, []run{{0, "a"}, {1, ""}, {0xaf63dc4c8601ec8c, "b"}, {1<<64 - 1, "a"}}}
	text, err := encode(was)
	require.NoError(t, err)
	require.Equal(t, `{"generation":7,"runs":[{"from":"0x0000000000000000","holder":"a"},{"from":"0x0000000000000001","holder":""},`+
		`{"from":"0xaf63dc4c8601ec8c","holder":"b"},{"from":"0xffffffffffffffff","holder":"a"}]}`, text)
	got, err := decode(text)
	require.NoError(t, err)
	require.Equal(t, was, got)
	require.Equal(t, []string{"a", "b"}, got.holders())
	require.Equal(t, Set{{0, 0}, {1<<64 - 1, 1<<64 - 1}}, heldBy(got.runs, func(holder string) bool { return holder == "a" }))

	// Somebody has mended it by hand, and didn't join what belongs together.
	got, err = decode(`{"generation":8,"runs":[{"from":"0","holder":"a"},{"from":"5","holder":"a"},{"from":"0x10","holder":"b"}]}`)
	require.NoError(t, err)
	require.Equal(t, []run{{0, "a"}, {16, "b"}}, got.runs)
}

// Two replicas that read a broken table differently would work side by side.
func TestABrokenTableIsRefused(t *testing.T) {
	for text, why := range map[string]string{
		``:                             "unexpected end of JSON input",
		`{}`:                           "its generation is 0",
		`{"generation":1}`:             "it has no runs",
		`{"generation":1,"runs":[{}]}`: "its run 0",
		`{"generation":1,"runs":[{"from":"0x1","holder":"a"}]}`:                                      "not from 0",
		`{"generation":1,"runs":[{"from":"0","holder":"a"},{"from":"0","holder":"b"}]}`:              "not behind",
		`{"generation":1,"runs":[{"from":"0"},{"from":"9","holder":"b"},{"from":"8"}]}`:              "not behind",
		`{"generation":1,"runs":[{"from":"0"},{"from":"0x10000000000000000","holder":"b"}]}`:         "out of range",
		`{"generation":1,"runs":[{"from":"0","holder":"a"},{"from":"half of it all","holder":"b"}]}`: "invalid syntax",
	} {
		_, err := decode(text)
		require.ErrorContains(t, err, why, text)
	}
}

// What's replaced has the other holders, and the rest has its own.
func TestPartsOfATableAreReplaced(t *testing.T) {
	got := replaced(letters("aabbcc"), Set{{place(1), place(4) - 1}}, letters("xxxxyy"))
	require.Equal(t, letters("axxxcc"), got)
	require.Equal(t, letters("aabbcc"), replaced(letters("aabbcc"), nil, letters("x")))
	require.Equal(t, letters("x"), replaced(nil, everything, letters("x")))
}
