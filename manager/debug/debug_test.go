package debug

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/inorder"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

func ask(recorder *trace.Recorder, method, target, accept string) *httptest.ResponseRecorder {
	w, req := httptest.NewRecorder(), httptest.NewRequest(method, target, nil)
	req.Header.Set("Accept", accept)
	Reconciles(recorder).ServeHTTP(w, req)
	return w
}

func text(t *testing.T, recorder *trace.Recorder, query string) string {
	t.Helper()
	w := ask(recorder, http.MethodGet, "/debug/reconciles"+query, "")
	require.Equal(t, 200, w.Code, w.Body.String())
	return w.Body.String()
}

// sourceFunc hands the controller's queue to the test.
type sourceFunc func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error

func (f sourceFunc) Start(
	ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request],
) error {
	return f(ctx, q)
}

// The picture must be that of a real controller, whose events are not made for this page.
func TestTheLatestReconcilesOfARunningControllerAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(0)
		c, err := controller.NewUnmanaged("website", controller.Options{
			Recorder: recorder, Kind: "Website", GracePeriod: -1,
			Reconciler: reconcile.Func(func(
				ctx context.Context, req reconcile.Request,
			) (reconcile.Result, error) {
				time.Sleep(20 * time.Millisecond)
				switch req.Name {
				case "bad":
					return reconcile.Result{}, errors.New("no\troom\nat all")
				case "later":
					return reconcile.Result{RequeueAfter: time.Hour}, nil
				case "slow":
					<-ctx.Done()
				}
				return reconcile.Result{}, nil
			}),
		})
		require.NoError(t, err)
		queues := make(chan workqueue.TypedRateLimitingInterface[reconcile.Request], 1)
		require.NoError(t, c.Watch(sourceFunc(func(
			_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request],
		) error {
			queues <- q
			return nil
		})))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		queue := (<-queues).(priorityqueue.PriorityQueue[reconcile.Request])
		synctest.Wait()
		add := func(name, reason string) {
			queue.AddWithOpts(workqueue.AddOpts{Reason: reason},
				reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop",
					Name: name}})
		}
		add("web", "Pod deleted")
		add("later", "Website updated")
		add("later", "Pod created")
		time.Sleep(time.Second)
		add("bad", "Website created")
		time.Sleep(21 * time.Millisecond)
		add("slow", "Website created")
		time.Sleep(time.Second)

		got, asJSON := text(t, recorder, ""), ask(recorder, http.MethodGet, "/?name=web",
			"application/json").Body.Bytes()
		stop()
		require.NoError(t, <-ended)

		require.Contains(t, got, "\nwebsite (Website): 1 running, 3 ended, 1 of them failed\n")
		require.Regexp(t,
			`  STARTED +REQUEST +QUEUED +TOOK +RESULT +REASONS\n  \d\d:\d\d:01.021  shop/slow `,
			got, "the newest comes first")
		require.Regexp(t, `shop/slow   \S+ +- +running +Website created`, got)
		require.Regexp(t, `shop/bad    0s +20ms  failed: no room at all +Website created`, got)
		require.Regexp(t,
			`shop/later  20ms +20ms  requeued: after 1h0m0s +Website updated, Pod created \(2 causes\)`, got, "how many, said once")
		require.Regexp(t, `shop/web    0s +20ms  succeeded +Pod deleted`, got)

		var decoded report
		require.NoError(t, json.Unmarshal(asJSON, &decoded))
		require.Len(t, decoded.Controllers, 1)
		r := decoded.Controllers[0].Reconciles
		require.Len(t, r, 1)
		require.Equal(t, reconcileJSON{"shop", "web", "Pod deleted", 1, 0, 20 * time.Millisecond,
			"succeeded"},
			reconcileJSON{r[0].Namespace, r[0].Name, r[0].Reasons, r[0].Causes, *r[0].Queued,
				r[0].Took, r[0].Result})
	})
}

type reconcileJSON struct {
	namespace, name, reasons string
	causes                   int
	queued, took             time.Duration
	result                   string
}

// told makes a recorder of hand-made events.
func told(size int, events ...trace.Event) *trace.Recorder {
	r := trace.New(size)
	for _, e := range events {
		r.Record(e)
	}
	return r
}

func begin(controller, name string) trace.Event {
	return trace.Event{Kind: trace.ReconcileStart, Layer: controller, Namespace: "shop", Name: name}
}

func end(controller, name string, outcome trace.Outcome) trace.Event {
	return trace.Event{Kind: trace.ReconcileEnd, Layer: controller, Namespace: "shop", Name: name,
		Outcome: outcome, Took: time.Millisecond}
}

func TestWhatTheRingHasForgottenIsSaidToBeUnknown(t *testing.T) {
	got := text(t, told(0, end("website", "web", trace.Succeeded)), "")
	require.Contains(t, got, "From the last 1 of 1 events.")
	require.Regexp(t, `shop/web  \?       1ms   succeeded  \?`, got)
	got = text(t, told(2, begin("website", "a"), end("website", "a", trace.Succeeded),
		end("website", "a", trace.Succeeded)), "")
	require.Contains(t, got, "From the last 2 of 3 events.")
}

func TestATimeInTheQueueBelongsToOneReconcile(t *testing.T) {
	taken := trace.Event{Kind: trace.Dequeue, Layer: "website", Namespace: "shop", Name: "web",
		Took: time.Minute}
	got := text(t, told(0, taken, begin("website", "web"), end("website", "web", trace.Succeeded),
		begin("website", "web")), "")
	require.Regexp(t, `shop/web  1m0s +1ms +succeeded`, got)
	require.Regexp(t, `shop/web  \? +- +running`, got)
}

func TestQueuesThatBelongToNoControllerAreNotShown(t *testing.T) {
	got := text(t, told(0, trace.Event{Kind: trace.Dequeue, Layer: "queue", Name: "x"},
		trace.Event{Kind: trace.Note, Layer: "demo"}), "")
	require.Equal(t, "No reconciles of such a controller in the last 2 of 2 events.\n", got)
}

func TestSeveralControllersAreShownByTheirNamesAndCounted(t *testing.T) {
	r := told(0,
		begin("b", "x"), end("b", "x", trace.Failed), begin("b", "x"), end("b", "x",
			trace.GivenUp), begin("b", "y"),
		begin("a", "x"), end("a", "x", trace.Requeued), end("a", "z", trace.Waiting))
	got := text(t, r, "")
	require.Contains(t, got, "\na: 0 running, 2 ended, 0 of them failed\n")
	require.Contains(t, got, "\nb: 1 running, 2 ended, 2 of them failed\n")
	require.Less(t, strings.Index(got, "\na:"), strings.Index(got, "\nb:"))

	require.NotContains(t, text(t, r, "?controller=b"), "\na:")
	require.NotContains(t, text(t, r, "?name=y"), "shop/x")
	require.Contains(t, text(t, r, "?name=y&namespace=shop"), "shop/y")
	require.Equal(t,
		"From the last 8 of 8 events.\n\na: 0 running, 2 ended, 0 of them failed\n\nb: 1 "+
			"running, 2 ended, 2 of them failed\n", text(t, r, "?namespace=bank"),
		"a controller without such reconciles has no table")
	require.Equal(t, 1, strings.Count(text(t, r, "?controller=b&n=1"), "shop/"))
	require.Contains(t, text(t, r, "?controller=none"), "No reconciles of such a controller")
}

func TestOnlyTheLatestAreShownUnlessAskedForMore(t *testing.T) {
	var events []trace.Event
	for range 50 {
		events = append(events, begin("website", "web"), end("website", "web", trace.Succeeded))
	}
	r := told(0, events...)
	require.Equal(t, defaultShown, strings.Count(text(t, r, ""), "shop/web"))
	require.Equal(t, 50, strings.Count(text(t, r, "?n=100"), "shop/web"))
	require.Equal(t, 50, strings.Count(text(t, r, "?n=4096"), "shop/web"))
	require.Contains(t, text(t, r, ""), "50 ended")
}

func TestARecorderThatIsOffSaysHowToTurnItOn(t *testing.T) {
	require.Equal(t,
		"The flight recorder is off. Set Recorder in the manager's or the controller's options "+
			"to trace.New(0).\n", text(t, nil, ""))
	w := ask(nil, http.MethodGet, "/?format=json", "")
	require.JSONEq(t, `{"on": false, "recorded": 0, "held": 0, "controllers": []}`, w.Body.String())
}

func TestAWrongRequestIsToldWhatIsPossible(t *testing.T) {
	for query, want := range inorder.Map(map[string]string{
		"?n=0":                    "from 1 to 4096",
		"?n=4097":                 "from 1 to 4096",
		"?n=many":                 "from 1 to 4096",
		"?n=99999999999999999999": "from 1 to 4096",
		"?format=xml":             "must be text or json",
		"?controler=x":            "possible are controller, namespace, name, n and format",
	}) {
		w := ask(trace.New(0), http.MethodGet, "/"+query, "")
		require.Equal(t, 400, w.Code, query)
		require.Contains(t, w.Body.String(), want)
		require.Equal(t, 1, strings.Count(w.Body.String(), "\n"), "nothing but the error is shown")
	}
	w := ask(trace.New(0), http.MethodPost, "/?n=0", "")
	require.Equal(t, 405, w.Code)
	require.Equal(t, "only GET is possible here\n", w.Body.String())
	require.Equal(t, "GET, HEAD", w.Result().Header.Get("Allow"))
	require.Equal(t, 200, ask(trace.New(0), http.MethodHead, "/", "").Code)
}

func TestTheFormIsTheClientsChoice(t *testing.T) {
	r := told(0, end("website", "web", trace.Succeeded))
	for name, c := range inorder.Map(map[string]struct{ query, accept, want string }{
		"a browser":            {"", "text/html,*/*", "text/plain; charset=utf-8"},
		"a program":            {"", "application/json", "application/json"},
		"by parameter":         {"?format=json", "", "application/json"},
		"the parameter counts": {"?format=text", "application/json", "text/plain; charset=utf-8"},
	}) {
		w := ask(r, http.MethodGet, "/"+c.query, c.accept)
		sent := w.Result().Header
		require.Equal(t, c.want, sent.Get("Content-Type"), name)
		require.Equal(t, "nosniff", sent.Get("X-Content-Type-Options"),
			"an object's name is not a script")
		require.Equal(t, "no-store", sent.Get("Cache-Control"),
			"what is happening now is not what happened before")
		require.Equal(t, c.want == "application/json",
			strings.HasPrefix(w.Body.String(), "{\n  \"on\": true"), "JSON is for people, too")
	}
}

func TestAReasonIsShownForWhatItIs(t *testing.T) {
	for _, c := range []struct {
		reasons string
		causes  int
		want    string
	}{
		{"", 0, "?"}, {"", 1, "?"}, {"", 2, "(2 causes)"},
		{"Pod deleted", 0, "Pod deleted"}, {"Pod deleted", 1, "Pod deleted"}, {"Pod deleted", 2,
			"Pod deleted (2 causes)"},
	} {
		require.Equal(t, c.want, oneReconcile{Reasons: c.reasons, Causes: c.causes}.reasons())
	}
	require.Equal(t, "node", oneReconcile{Name: "node"}.request(), "an object in no namespace")
}

func TestDurationsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 123456: "123.5µs", 12345678: "12.35ms", 1234567890: "1.23s", time.Hour +
			123456: "1h0m0s",
	} {
		require.Equal(t, want, short(d))
	}
}
