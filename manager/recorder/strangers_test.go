package recorder

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// stranger answers in place of the API server until a time has come.
type stranger struct {
	http.RoundTripper
	until  time.Time
	code   int
	format string // the Content-Type
	body   string
}

func (s stranger) RoundTrip(request *http.Request) (*http.Response, error) {
	if !time.Now().Before(s.until) {
		return s.RoundTripper.RoundTrip(request)
	}
	return fakeapi.Answer(request, s.code, s.format, s.body), nil
}

// What a proxy answers for a while is no refusal of the API server, and no event was written by
// it. kubectl describe has to show the event in the end.
func TestAnEventIsWrittenOnceTheAnswersAreTheAPIServersOwn(t *testing.T) {
	page := "<html>please log in</html>"
	for name, answer := range map[string]stranger{
		"a login page":              {code: 200, format: "text/html", body: page},
		"a login page called JSON":  {code: 200, format: "application/json", body: page},
		"an empty object":           {code: 200, format: "application/json", body: "{}"},
		"an empty answer":           {code: 200, format: "application/json"},
		"another object":            {code: 201, format: "application/json", body: other},
		"a page that isn't found":   {code: 404, format: "text/plain", body: "404 page not found"},
		"a page that's forbidden":   {code: 403, format: "text/html", body: page},
		"a method that isn't taken": {code: 405, format: "text/html", body: page},
		"a bad request":             {code: 400, format: "text/html", body: page},
		"a redirect without a goal": {code: 302, format: "text/html", body: page},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fakeapi.New(fakeapi.Options{})
				defer server.Close()
				w := prepare(t, server, Options{})
				answer.RoundTripper, answer.until = server.Config().Transport,
					time.Now().Add(40*time.Second)
				var err error
				w.Writer, err = New(server.Config(), &http.Client{Transport: answer},
					scheme.Scheme, w.options)
				require.NoError(t, err)
				w.begins()
				w.GetEventRecorder("websites").Eventf(pod("a"), nil, "Warning", "Failed", "Create",
					"no room")
				w.GetEventRecorderFor("websites").Event(pod("b"), "Warning", "Failed", "no room")
				time.Sleep(2 * time.Minute)
				require.Equal(t, []string{"Warning Failed Create a no room"}, w.written("default"))
				ofCore, err := w.client.CoreV1().Events("default").List(t.Context(),
					metav1.ListOptions{})
				require.NoError(t, err)
				require.Len(t, ofCore.Items, 1)
				require.NotContains(t, w.logged(), "An event was lost")
				require.NoError(t, w.ends())
			})
		})
	}
}

const other = `{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"other"}}`

// A webhook of one namespace hangs, and each of its events takes as long as a request may. The
// others are late by that much, and by no more.
func TestAnEventThatHangsDelaysTheNextOneByTenSecondsAtMost(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Group: "events.k8s.io", Verb: "create"},
			Hang: true, Times: 1})
		r := w.GetEventRecorder("websites")
		r.Eventf(pod("a"), nil, "Warning", "Failed", "Create", "it hangs")
		synctest.Wait()
		r.Eventf(pod("b"), nil, "Warning", "Failed", "Create", "no room")
		time.Sleep(writeTimeout)
		require.Equal(t, []string{"Warning Failed Create b no room"}, w.written("default"))
		time.Sleep(writeTimeout)
		require.Len(t, w.written("default"), 2)
	})
}

// The counter is what an alert looks at, so it has each of them, though the log has one line a
// minute.
func TestEveryLostEventIsCountedThoughTheLogHasOneLineAMinute(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		require.NoError(t, w.ends())
		before := lostFor(t, lostStopped)
		r := w.GetEventRecorder("websites")
		for n := range 100 {
			r.Eventf(pod(fmt.Sprint(n)), nil, "Normal", "Scaled", "Scale", "mine")
			time.Sleep(3 * time.Second)
		}
		require.Equal(t, before+100, lostFor(t, lostStopped))
		require.Equal(t, 5, strings.Count(w.logged(), "Events were lost"))
	})
}
