package recorder

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var ofEvents = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}

func answered(code int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Code: code,
		Message: "an answer"}}
}

// An event that is given up too early is lost, and one that is tried forever keeps others from
// being written.
func TestWhatAnAnswerMeans(t *testing.T) {
	taken := apierrors.NewAlreadyExists(ofEvents, "a")
	for _, c := range []struct {
		name  string
		err   error
		again bool
		want  verdict
	}{
		{"done", nil, false, written},
		{"done, the second time", nil, true, written},
		{"the name is somebody else's", taken, false, renamed},
		{"the name is ours, and the answer was lost", taken, true, written},
		{"no answer", errors.New("connection refused"), false, unsure},
		{"too much to do", apierrors.NewTooManyRequests("later", 1), false, unsure},
		{"somebody else has written", apierrors.NewConflict(ofEvents, "a", errors.New("newer")),
			false, unsure},
		{"a token that is being renewed", apierrors.NewUnauthorized("expired"), false, unsure},
		{"broken", answered(500), false, unsure},
		{"away", answered(503), false, unsure},
		{"not allowed", apierrors.NewForbidden(ofEvents, "a", errors.New("no")), false, unwanted},
		{"not valid", apierrors.NewInvalid(schema.GroupKind{Kind: "Event"}, "a", nil), true,
			unwanted},
		{"another answer", answered(499), false, unwanted},
	} {
		require.Equal(t, c.want, classify(c.err, c.again), c.name)
	}
}

// An event is what somebody looks for when something went wrong. If it is missing, the log says
// why; but the end of a namespace is nothing to worry about.
func TestTheLogSaysWhyAnEventIsMissing(t *testing.T) {
	ending := apierrors.NewForbidden(ofEvents, "a", errors.New("it is being terminated"))
	ending.ErrStatus.Details.Causes = append(ending.ErrStatus.Details.Causes,
		metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	going := `"level"=1 "msg"="An event was not written: its namespace is going away"`
	refused := `"msg"="An event was lost: the API server refused it"`
	bare := answered(404).(*apierrors.StatusError)
	bare.ErrStatus.Reason = metav1.StatusReasonNotFound
	for _, c := range []struct {
		name    string
		verdict verdict
		err     error
		want    string
	}{
		{"written", written, nil, ""},
		{"later", unsure, answered(500),
			`"level"=1 "msg"="An event could not be written, and will be tried again"~"error"="an answer"`},
		{"renamed", renamed, answered(409),
			`"level"=1 "msg"="An event could not be written, and will be tried again"`},
		{"given up", unreachable, answered(500),
			`"msg"="An event was lost: it could not be written"~"error"="an answer"`},
		{"the namespace ends", unwanted, ending, going},
		{"the namespace is gone", unwanted,
			apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "gone"), going},
		{"something else is not there", unwanted, apierrors.NewNotFound(ofEvents, "a"), refused},
		{"nobody says what is not there", unwanted, bare, refused},
		{"no permission", unwanted, apierrors.NewForbidden(ofEvents, "a", errors.New("no")),
			`"msg"="An event was lost: it may not be written. Others that are lost for this reason are not logged"~"error"="events.events.k8s.io \"a\" is forbidden: no; the role needs the rule`},
		{"not valid", unwanted, apierrors.NewInvalid(schema.GroupKind{Kind: "Event"}, "a", nil),
			refused},
	} {
		var lines []string
		w := newWriter(nil, nil, Options{Logger: funcr.New(func(_, args string) {
			lines = append(lines, args)
		}, funcr.Options{Verbosity: 1})})
		w.tell(update{api: currentAPI, event: &eventsv1.Event{Reason: "Scaled"}}, c.verdict, c.err)
		if c.want == "" {
			require.Empty(t, lines, c.name)
			continue
		}
		require.Len(t, lines, 1, c.name)
		// between the two are the object and the note
		for part := range strings.SplitSeq(c.want, "~") {
			require.Contains(t, lines[0], part, c.name)
		}
		require.Contains(t, lines[0], `"reason"="Scaled"`, c.name)
	}
}

// A flood of events must not become a flood of log lines, and the line that comes must not hide how
// many there were.
func TestLostEventsAreCountedUntilTheLogSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		w := &Writer{options: Options{Logger: funcr.New(func(_, args string) {
			lines = append(lines, args)
		}, funcr.Options{})}}
		before := lostFor(t, lostFull)
		w.lost(lostFull, 0)
		w.lost(lostFull, 1)
		w.lost(lostStopped, 2)
		time.Sleep(time.Minute - 1)
		w.lost(lostFull, 3)
		require.Equal(t, []string{`"msg"="Events were lost" "error"=null "why"="` + lostFull +
			`" "events"=1`}, lines)
		time.Sleep(time.Nanosecond)
		w.lost(lostFull, 4)
		require.Len(t, lines, 2)
		require.Contains(t, lines[1], `"events"=9`)
		w.lost(lostRefused, 5)
		require.Len(t, lines, 2, "whoever was refused has a line of its own")
		require.Equal(t, before+8, lostFor(t, lostFull))
	})
}
