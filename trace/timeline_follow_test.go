package trace

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// Half a million lines about other objects hide the one that was asked for.
func TestATimelineShowsWhatItsFilterSelectsInColumnsThatFitThat(t *testing.T) {
	timeline := Timeline{Filter: Filter{Kinds: []Kind{List}}}
	var out strings.Builder
	require.NoError(t, timeline.Write(&out, story()))
	assert.Equal(t, "   0.004s  listwatch  list             Pod  12 items at resourceVersion 811\n",
		out.String(),
		"what is not shown needs no line, and no column")
}

// ended returns a context that has ended: Follow then writes the recorded events, and returns.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestFollowWritesWhatWriteWrites(t *testing.T) {
	rec := New(16)
	for _, e := range story() {
		rec.Record(e)
	}
	events := rec.Events()
	fits := Timeline{LayerWidth: 10, ObjectWidth: 22}
	for name, timeline := range inorder.Map(map[string]Timeline{"all": fits,
		"some": {Filter: Filter{Layer: "listwatch", Name: "web-1"}}}) {
		var written, followed strings.Builder
		require.NoError(t, timeline.Write(&written, events))
		require.NoError(t, timeline.Follow(ended(), rec, &followed))
		assert.NotEmpty(t, written.String())
		assert.Equal(t, written.String(), followed.String(),
			"%s: with the same filter and columns, the lines must be the same", name)
	}
}

// A reader that is used to narrow columns looks for the sentence where it was.
func TestColumnsThatHadToWidenStayAsWide(t *testing.T) {
	rec := New(4)
	rec.Record(Event{Kind: Done, Layer: "a queue", Name: "a-long-name"})
	rec.Record(Event{Kind: Done, Layer: "q", Name: "web"})
	var out strings.Builder
	require.NoError(t, Timeline{}.Follow(ended(), rec, &out))
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 3)
	const sentence = "the worker is done with it"
	assert.Equal(t, strings.Index(lines[0], sentence), strings.Index(lines[1], sentence),
		"the first line made the columns wide, and the second has its sentence in the same place")
}

// burst records a burst of events while the first line is written: more than its
// recorder can hold.
type burst struct {
	bytes.Buffer
	rec    *Recorder
	cancel context.CancelFunc
	size   int
}

func (b *burst) Write(line []byte) (int, error) {
	for range b.size {
		b.rec.Record(Event{Kind: Note, Reason: "one of many"})
	}
	b.size = 0
	b.cancel()
	return b.Buffer.Write(line)
}

// A user who does not know that events are missing takes the timeline for the whole story.
func TestFollowSaysHowManyEventsItCouldNotShow(t *testing.T) {
	for size, want := range inorder.Map(map[int]string{4: "", 5: "... 1 events were overwritten",
		11: "... 7 events were overwritten"}) {
		ctx, cancel := context.WithCancel(t.Context())
		b := &burst{rec: New(4), cancel: cancel, size: size}
		b.rec.Record(Event{Kind: Note, Reason: "the first"})
		require.NoError(t, Timeline{}.Follow(ctx, b.rec, b))
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		assert.Contains(t, lines[0], "the first")
		if rest := lines[1:]; want == "" {
			assert.Len(t, rest, 4,
				"%d events fit, so none of them was lost, and nothing need be said", size)
		} else if assert.Len(t, rest, 5,
			"the number of the lost ones, and then the four that are left of %d", size) {
			assert.Contains(t, rest[0], want, "the hole comes before the events that follow it")
		}
		assert.Equal(t, 4, strings.Count(b.String(), "one of many"),
			"what the recorder still holds of %d must be shown", size)
	}
}

// fullDisk accepts some lines, and then no more.
type fullDisk struct{ lines int }

func (d *fullDisk) Write(line []byte) (int, error) {
	if d.lines--; d.lines < 0 {
		return 0, errors.New("no space left")
	}
	return len(line), nil
}

func TestFollowReportsAnOutputThatFails(t *testing.T) {
	rec := New(4)
	rec.Record(Event{Kind: Note})
	assert.ErrorContains(t, Timeline{}.Follow(ended(), rec, &fullDisk{}), "no space left",
		"an event could not be written")
}

// lostLine fails at the line that says how many events were lost.
type lostLine struct{ *burst }

func (l lostLine) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("overwritten")) {
		return 0, errors.New("no space left")
	}
	return l.burst.Write(line)
}

func TestFollowReportsThatItCouldNotSayWhatWasLost(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := &burst{rec: New(4), cancel: cancel, size: 9}
	b.rec.Record(Event{Kind: Note})
	assert.ErrorContains(t, Timeline{}.Follow(ctx, b.rec, lostLine{b}), "no space left")
}

// The clock of a timeline has three digits after the point.
func TestALineBeginsWithItsTime(t *testing.T) {
	assert.Equal(t, "1234.568s    start            x  started",
		Timeline{}.Line(Event{At: 1234568 * time.Millisecond, Kind: Start, Name: "x"}))
}
