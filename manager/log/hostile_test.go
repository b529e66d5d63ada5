package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// later is a value that slog asks for when it writes the line.
type later struct{ value any }

func (l later) LogValue() slog.Value { return slog.AnyValue(l.value) }

// shows is the same for logr.
type shows struct{ value any }

func (s shows) MarshalLog() any { return s.value }

// An object may be a Secret, and logs are read by people who may not read Secrets.
// loudPod is an object that would log itself in full.
type loudPod struct{ *corev1.Pod }

func (p loudPod) MarshalLog() any { return p.Spec.NodeName }

func TestNoObjectIsInALineInFullWhereverItStands(t *testing.T) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.PodSpec{NodeName: "hush"}}
	for name, value := range map[string]any{
		"a pointer":            &pod,
		"an item of a list":    pod,
		"in a group":           slog.GroupValue(slog.Int("n", 1), slog.Any("pod", &pod)),
		"in a group's group":   slog.GroupValue(slog.Group("deep", "pod", &pod)),
		"a value of a valuer":  later{&pod},
		"a group of a valuer":  later{slog.GroupValue(slog.Any("pod", &pod))},
		"a valuer in a group":  slog.GroupValue(slog.Any("later", later{&pod})),
		"what a Marshaler has": shows{&pod},
		"a Marshaler in one":   shows{loudPod{&pod}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			through := FromSlog(slog.NewTextHandler(&out, nil))
			through.Info("m", "v", value)
			through.WithValues("v", value).Info("m")
			Slog(through).Info("m", "v", value)
			Slog(through).WithGroup("g").With("v", value).Info("m")
			require.Equal(t, 4, strings.Count(out.String(), "name=web"), out.String())
			require.NotContains(t, out.String(), "hush")
		})
	}
}

// A program means well, and sets the logger that it has. Each line would go round in circles until
// the stack is full, which ends the program.
// withoutPassword is its own Marshaler, as a value is that's shown with something taken out.
type withoutPassword struct{ User, Password string }

func (w withoutPassword) MarshalLog() any { w.Password = "***"; return w }

func TestAMarshalerThatReturnsOneOfItsKindIsAskedOnce(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 22)) // so a failure doesn't take a gigabyte
	var out bytes.Buffer
	FromSlog(slog.NewTextHandler(&out, nil)).Info("m", "v", withoutPassword{"ada", "hush"})
	require.Contains(t, out.String(), "{User:ada Password:***}")
}

func TestALoggerThatIsMadeFromLogIsRefused(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 22)) // so a failure doesn't take a gigabyte
	for name, made := range map[string]func(logr.Logger) logr.Logger{
		"itself":      func(l logr.Logger) logr.Logger { return l },
		"with a name": func(l logr.Logger) logr.Logger { return l.WithName("mine").V(1) },
		"through slog": func(l logr.Logger) logr.Logger {
			return logr.FromSlogHandler(Slog(l).Handler())
		},
		"through slog and back": func(l logr.Logger) logr.Logger {
			return FromSlog(Slog(l).Handler())
		},
		"with a name, and more": func(l logr.Logger) logr.Logger {
			return FromSlog(Slog(l).With("a", 1).WithGroup("g").Handler()).WithName("mine")
		},
		"there and back twice": func(l logr.Logger) logr.Logger {
			return FromSlog(Slog(FromSlog(Slog(l).Handler())).With("a", 1).Handler())
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, early := fresh()
			var told strings.Builder
			r.tell = &told
			r.set(made(early).GetSink())
			early.WithName("a").Info("lost")
			require.Contains(t, told.String(), "log.SetLogger was called with log.Log")
			actual, written := lines(t)
			r.set(actual.GetSink())
			early.Info("kept")
			require.Len(t, *written, 1, "the next call counts")
		})
	}
}
