package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// lines is a logger that remembers what it was told.
func lines(t *testing.T) (logr.Logger, *[]string) {
	t.Helper()
	var mu sync.Mutex
	var written []string
	return funcr.New(func(prefix, args string) {
		mu.Lock()
		defer mu.Unlock()
		written = append(written, prefix+" "+args)
	}, funcr.Options{Verbosity: 2}), &written
}

func fresh() (*root, logr.Logger) {
	r := newRoot()
	return r, logr.New(&delegate{root: r})
}

func TestALoggerThatWasMadeBeforeSetLoggerWritesAfterIt(t *testing.T) {
	r, log := fresh()
	named := log.WithName("controller").WithValues("kind", "Pod").WithName("worker")
	named.Info("lost")
	actual, written := lines(t)
	r.set(actual.GetSink())
	named.Info("kept", "n", 1)
	named.V(2).Info("kept, too")
	named.V(3).Info("too much detail")
	named.Error(errors.New("no"), "failed")
	named.WithValues("a", "b").Info("made later")
	require.Equal(t, []string{
		`controller/worker "level"=0 "msg"="kept" "kind"="Pod" "n"=1`,
		`controller/worker "level"=2 "msg"="kept, too" "kind"="Pod"`,
		`controller/worker "msg"="failed" "error"="no" "kind"="Pod"`,
		`controller/worker "level"=0 "msg"="made later" "kind"="Pod" "a"="b"`,
	}, *written)
}

func TestTheFirstLoggerCounts(t *testing.T) {
	r, log := fresh()
	first, written := lines(t)
	second, other := lines(t)
	r.set(first.GetSink())
	r.set(second.GetSink())
	log.Info("hello")
	require.Len(t, *written, 1)
	require.Empty(t, *other)
}

func TestValuesAreThoseOfTheCallAndNotOfALaterChange(t *testing.T) {
	r, log := fresh()
	values := []any{"kind", "Pod"}
	named := log.WithValues(values...)
	values[1] = "Node"
	actual, written := lines(t)
	r.set(actual.GetSink())
	named.Info("hello")
	require.Equal(t, []string{` "level"=0 "msg"="hello" "kind"="Pod"`}, *written)
}

// The line of the caller is what people click on; the frames in between must not show.
func TestALineNamesTheCodeThatLogged(t *testing.T) {
	helper := func(log logr.Logger) { log.WithCallDepth(1).Info("from a helper") }
	r, log := fresh()
	before := log.WithName("before")
	beforeHelper := before.WithCallDepth(1)
	var written []string
	r.set(funcr.New(func(_, args string) {
		written = append(written, args)
	}, funcr.Options{LogCaller: funcr.All}).GetSink())
	_, _, line, _ := runtime.Caller(0)
	log.Info("direct")
	before.Info("direct")
	before.WithName("after").Error(nil, "direct")
	helper(log)
	func() { beforeHelper.Info("from a helper") }()
	require.Len(t, written, 5)
	for i, args := range written {
		require.Contains(t, args, fmt.Sprintf(`"line"=%d`, line+1+i))
	}
}

func TestAProgramWithoutALoggerIsToldSoOnce(t *testing.T) {
	r, log := fresh()
	var told bytes.Buffer
	r.tell = &told
	require.False(t, log.Enabled(), "a line that is lost need not be made")
	log.GetSink().Info(0, "lost") // by a program that does not ask
	r.created = r.created.Add(-patience + 10*time.Second)
	log.Info("early")
	require.Empty(t, told.String())
	r.created = r.created.Add(-10 * time.Second)
	log.Info("late")
	require.Contains(t, told.String(), "log.SetLogger was never called")
	require.Contains(t, told.String(), "lost after 30s")
	require.Contains(t, told.String(), "log_test.go", "it says who logged")
	told.Reset()
	log.Error(nil, "late")
	require.Empty(t, told.String())

	actual, written := lines(t)
	r.set(actual.GetSink())
	log.Info("a logger that comes late is taken")
	require.Len(t, *written, 1)
}

func TestAnErrorThatIsLostIsToldAsWell(t *testing.T) {
	r, log := fresh()
	var told bytes.Buffer
	r.tell = &told
	r.created = r.created.Add(-patience)
	log.Error(nil, "late")
	require.NotEmpty(t, told.String())
}

func TestAProgramWithALoggerIsToldNothing(t *testing.T) {
	r, log := fresh()
	var told bytes.Buffer
	r.tell = &told
	r.created = r.created.Add(-patience)
	actual, written := lines(t)
	r.set(actual.GetSink())
	log.Info("late")
	log.Error(nil, "late")
	require.Len(t, *written, 2)
	require.Empty(t, told.String())
}

// Not every library's sink can skip frames.
func TestALoggerThatCannotSkipFramesIsALogger(t *testing.T) {
	r, log := fresh()
	named := log.WithName("before").WithCallDepth(1)
	actual, written := lines(t)
	r.set(struct{ logr.LogSink }{actual.GetSink()})
	named.Info("hello")
	require.Equal(t, []string{`before "level"=0 "msg"="hello"`}, *written)
}

func TestABubblesClockIsNotTakenForAMissingLogger(t *testing.T) {
	r, log := fresh()
	var told bytes.Buffer
	r.tell = &told
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Hour)
		log.Info("in a bubble")
	})
	require.Empty(t, told.String())
}

func TestALoggerOfNothingIsALogger(t *testing.T) {
	r, log := fresh()
	r.set(logr.Logger{}.GetSink())
	named := log.WithName("a").WithValues("b", "c")
	named.Info("nowhere")
	named.Error(nil, "nowhere")
	require.False(t, named.Enabled())
}

func TestManyGoroutinesMayLogWhileTheLoggerIsSet(t *testing.T) {
	r, log := fresh()
	actual, written := lines(t)
	named := log.WithName("shared")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				named.WithValues("n", 1).Info("hello")
			}
		})
	}
	all.Go(func() { r.set(actual.GetSink()) })
	all.Wait()
	named.Info("at the end")
	require.Equal(t, `shared "level"=0 "msg"="at the end"`, (*written)[len(*written)-1])
}

func TestTheContextsLoggerComesFirst(t *testing.T) {
	actual, written := lines(t)
	ctx := IntoContext(t.Context(), actual.WithName("mine"))
	FromContext(ctx, "n", 1).Info("hello")
	FromContext(ctx).Info("hello")
	require.Equal(t, []string{`mine "level"=0 "msg"="hello" "n"=1`, `mine "level"=0 "msg"="hello"`},
		*written)
	require.Equal(t, Log, FromContext(t.Context()))
	var none context.Context // controller-runtime's takes nil, too
	require.Equal(t, Log, FromContext(none))
}

func TestAWarningOfTheServerIsLogged(t *testing.T) {
	actual, written := lines(t)
	ctx := IntoContext(t.Context(), actual)
	l := NewKubeAPIWarningLogger(KubeAPIWarningLoggerOptions{})
	l.HandleWarningHeaderWithContext(ctx, 299, "", "v1beta1 is deprecated")
	l.HandleWarningHeaderWithContext(ctx, 299, "", "v1beta1 is deprecated")
	l.HandleWarningHeaderWithContext(ctx, 299, "", "")
	l.HandleWarningHeaderWithContext(ctx, 199, "", "of no interest")
	require.Len(t, *written, 2)
}

func TestAWarningIsLoggedOnceIfTheUserWantsThat(t *testing.T) {
	actual, written := lines(t)
	ctx := IntoContext(t.Context(), actual)
	l := NewKubeAPIWarningLogger(KubeAPIWarningLoggerOptions{Deduplicate: true})
	for range 3 {
		l.HandleWarningHeaderWithContext(ctx, 299, "", "v1beta1 is deprecated")
		l.HandleWarningHeaderWithContext(ctx, 299, "", "unknown field")
	}
	require.Len(t, *written, 2)
	for i := range 3 * rememberedWarnings {
		l.HandleWarningHeaderWithContext(ctx, 299, "", fmt.Sprint(i))
	}
	require.Len(t, *written, 2+3*rememberedWarnings)
	require.LessOrEqual(t, len(l.written), rememberedWarnings, "what is remembered is bounded")
}

func TestSlogGetsReferencesInPlaceOfObjects(t *testing.T) {
	var out bytes.Buffer
	log := FromSlog(slog.NewTextHandler(&out,
		&slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime}))
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	log.WithValues("pod", pod).WithName("worker").Info("hello", "node",
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, "n", 1)
	log.V(4).Info("detail", "request", types.NamespacedName{Namespace: "default", Name: "web"},
		"none", (*corev1.Pod)(nil))
	log.Info("nothing", "none", (*corev1.Pod)(nil))
	log.V(5).Info("too much")
	log.Error(errors.New("no"), "failed", "marshaled", marshals{})
	require.Equal(t, `level=INFO msg=hello pod.apiVersion=v1 pod.kind=Pod pod.namespace=default pod.name=web logger=worker node.name=n1 n=1
level=DEBUG msg=detail request.namespace=default request.name=web none=<nil>
level=INFO msg=nothing none=<nil>
level=ERROR msg=failed err=no marshaled="what it is"
`, out.String())
}

type marshals struct{}

func (marshals) MarshalLog() any { return "what it is" }

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func TestCodeThatUsesSlogWritesToTheLogger(t *testing.T) {
	actual, written := lines(t)
	Slog(actual.WithName("mine")).With("a", 1).WithGroup("g").Info("hello", "b", 2)
	require.Equal(t, []string{`mine "level"=0 "msg"="hello" "a"=1 "g"={"b"=2}`}, *written)
}

func TestALineCrossesBothBridgesUnchanged(t *testing.T) {
	var out bytes.Buffer
	log := FromSlog(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	Slog(log).InfoContext(context.Background(), "hello")
	require.Equal(t, "level=INFO msg=hello\n", out.String())
}
