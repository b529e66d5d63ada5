package log

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// rude panics when it's asked for its text, as a nil pointer may.
type rude struct{ text *string }

func (r rude) String() string { return *r.text }

// nilError is the well-known mistake: a nil pointer that's an error.
type nilError struct{ text string }

func (n *nilError) Error() string { return n.text }

// A log line is often written because something went wrong already. Whatever is in it, it's written
// or dropped, and the program goes on: before SetLogger, after it, and through slog.
func TestWhateverIsInALineTheProgramGoesOn(t *testing.T) {
	r, early := fresh()
	values := map[string][]any{
		"nothing":                   nil,
		"a key without a value":     {"a"},
		"a key that's no text":      {7, 8},
		"a nil key":                 {nil, nil},
		"a nil object":              {"pod", (*corev1.Pod)(nil)},
		"a value that panics":       {"rude", rude{}},
		"an error of a nil pointer": {"err", (*nilError)(nil)},
		"a function":                {"f", func() {}},
		"a channel":                 {"c", make(chan int)},
		"a map that isn't text":     {"m", map[any]any{struct{}{}: nil}},
	}
	write := func() {
		for name, v := range values {
			require.NotPanics(t, func() {
				early.Info(name, v...)
				early.Error(errors.New("no"), name, v...)
				early.Error(nil, name, v...)
				early.WithValues(v...).WithName("").V(1).Info(name)
				FromContext(IntoContext(context.Background(), early), v...).Info(name)
			}, name)
		}
	}
	write()
	actual, written := lines(t)
	r.set(actual.GetSink())
	write()
	require.Len(t, *written, 5*len(values))
	require.Contains(t, fmt.Sprint(*written), "a value that panics")

	for _, handler := range []slog.Handler{slog.NewTextHandler(io.Discard, nil),
		slog.NewJSONHandler(io.Discard, nil)} {
		through := FromSlog(handler)
		for name, v := range values {
			require.NotPanics(t, func() {
				through.Info(name, v...)
				through.Error(nil, name, v...)
				through.WithValues(v...).Info(name)
			}, name)
		}
	}
}
