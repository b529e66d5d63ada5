package recorder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/ownmetrics"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/metrics"
)

// writeTimeout bounds one request, so that a server that hangs doesn't delay the other events of
// the namespace for longer.
const writeTimeout = 10 * time.Second

var errDrained = errors.New("the time for writing the last events is over")

// Why events are lost.
const (
	lostInvalid     = "invalid"     // an argument that no Event may have
	lostFull        = "full"        // too many events are waiting
	lostRefused     = "refused"     // the server refused it
	lostUnreachable = "unreachable" // too many attempts failed
	lostStopped     = "stopped"     // the writer has ended
)

var eventsLost = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "loopwright_events_lost_total",
	Help: "Events that were not written, or whose count was not, by the reason.",
}, []string{"reason"})

func init() { ownmetrics.Register(metrics.Registry, eventsLost) }

// lost counts events, and logs at most once a minute: a caller that floods the correlator must not
// flood the log.
func (w *Writer) lost(why string, n int) {
	if n == 0 {
		return
	}
	eventsLost.WithLabelValues(why).Add(float64(n))
	if why != lostFull && why != lostStopped {
		return // record or write has logged it with the event
	}
	w.mu.Lock()
	w.silent += n
	tell := time.Since(w.told) >= time.Minute
	n = w.silent
	if tell {
		w.told, w.silent = time.Now(), 0
	}
	w.mu.Unlock()
	if tell {
		w.options.Logger.Error(nil, "Events were lost", "why", why, "events", n)
	}
}

// refusal is a missing permission: to create events in a namespace, or to patch them.
type refusal struct {
	api       *api
	namespace string
	patch     bool
}

func refusalOf(u update) refusal { return refusal{u.api, u.event.Namespace, u.created} }

// isNews returns false for a refusal that was logged, until such an event is written again.
func (w *Writer) isNews(r refusal) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused[r] {
		return false
	}
	w.refused[r] = true
	return true
}

// sink is the API server, where events are written.
type sink map[*api]rest.Interface

func newSink(config *rest.Config, httpClient *http.Client) (sink, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	s := sink{}
	for _, by := range []*api{currentAPI, olderAPI} {
		config.GroupVersion, config.APIPath = &by.version, by.path
		client, err := rest.RESTClientForConfigAndClient(config, httpClient)
		if err != nil {
			return nil, err
		}
		s[by] = client
	}
	return s, nil
}

func (s sink) create(ctx context.Context, by *api, event *eventsv1.Event) error {
	return saved(event, s[by].Post().Namespace(event.Namespace).Resource("events").
		Body(by.body(event)).Do(ctx))
}

// patch updates an existing event.
func (s sink) patch(ctx context.Context, by *api, event *eventsv1.Event) error {
	patch, err := json.Marshal(by.patch(event))
	if err != nil {
		return err
	}
	return saved(event, s[by].Patch(types.MergePatchType).Namespace(event.Namespace).
		Resource("events").Name(event.Name).Body(patch).Do(ctx))
}

// saved returns an error unless the answer is the event. Code 200 alone doesn't say that it was
// written: a proxy's login page has it, too.
func saved(event *eventsv1.Event, answer rest.Result) error {
	object, err := answer.Get()
	if err != nil {
		return err
	}
	if m, err := meta.Accessor(object); err != nil || m.GetName() != event.Name {
		return fmt.Errorf("the answer isn't the event %s/%s: something other than the API "+
			"server may have sent it", event.Namespace, event.Name)
	}
	return nil
}

// write begins one write that is due, in the place that the caller has taken. It returns false, and
// gives the place back, if none is due.
func (w *Writer) write(ctx context.Context, started *sync.WaitGroup) bool {
	w.mu.Lock()
	u, due := w.correlator.take(time.Now())
	w.mu.Unlock()
	if !due {
		<-w.places
		return false
	}
	started.Go(func() {
		w.finish(ctx, u, w.send(ctx, u))
		<-w.places
		w.wakeUp()
	})
	return true
}

// finish tells the correlator, and the user, how a write has ended.
func (w *Writer) finish(ctx context.Context, u update, err error) {
	verdict := classify(err, u.unsure)
	if verdict == unsure && context.Cause(ctx) == errDrained {
		verdict = cutOff
	}
	w.mu.Lock()
	verdict = w.correlator.ended(u, verdict, time.Now())
	if verdict == renamed {
		w.stamp = max(w.stamp+1, time.Now().UnixNano())
		u.series.event.Name = eventName(u.event.Regarding.Name, w.stamp)
	}
	w.mu.Unlock()
	w.tell(u, verdict, err)
}

// send creates the event, or patches it. The server deletes events after an hour by default, so an
// event to patch may be gone.
func (w *Writer) send(ctx context.Context, u update) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if u.created {
		err := w.sink.patch(ctx, u.api, u.event)
		key := client.ObjectKey{Namespace: u.event.Namespace, Name: u.event.Name}
		if !client.IsAbsent(err, key) {
			return err
		}
	}
	return w.sink.create(ctx, u.api, u.event)
}

// verdict is the result of a write.
type verdict uint8

const (
	written     verdict = iota // the server has it
	unsure                     // try again later: the server was unreachable or overloaded
	renamed                    // try again under another name
	unwanted                   // the server refuses it, and would refuse it again
	unreachable                // too many attempts failed
	cutOff                     // the Writer was stopped, and its time is over
)

// classify maps an error to a verdict. If a create returns "already exists" and we have tried it
// before, our own write succeeded and its answer was lost; otherwise the name belongs to another
// event. An answer that has no Status isn't the API server's, whatever its code is.
func classify(err error, again bool) verdict {
	var status apierrors.APIStatus
	switch {
	case err == nil, again && apierrors.IsAlreadyExists(err):
		return written
	case apierrors.IsAlreadyExists(err):
		return renamed
	case !errors.As(err, &status), apierrors.IsTooManyRequests(err), apierrors.IsConflict(err),
		apierrors.IsUnauthorized(err), status.Status().Code >= http.StatusInternalServerError,
		apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return unsure
	}
	return unwanted
}

func (w *Writer) tell(u update, v verdict, err error) {
	log := w.options.Logger.WithValues(
		"object", u.event.Regarding, "reason", u.event.Reason, "note", u.event.Note)
	switch v {
	case written:
		w.mu.Lock()
		delete(w.refused, refusalOf(u))
		w.mu.Unlock()
	case unsure, renamed:
		log.V(1).Info("An event could not be written, and will be tried again", "error", err)
	case unreachable:
		w.lost(lostUnreachable, 1)
		log.Error(err, "An event was lost: it could not be written")
	case unwanted:
		w.lost(lostRefused, 1)
		switch {
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), isNoNamespace(err):
			log.V(1).Info("An event was not written: its namespace is going away", "error", err)
		case apierrors.IsForbidden(err):
			if w.isNews(refusalOf(u)) {
				err = fmt.Errorf("%w; the role needs the rule: "+
					"apiGroups [%s], resources [events], verbs [create, patch], namespace %s",
					err, cmp.Or(u.api.version.Group, `""`), u.event.Namespace)
				log.Error(err, "An event was lost: it may not be written. "+
					"Others that are lost for this reason are not logged")
			}
		default:
			log.Error(err, "An event was lost: the API server refused it")
		}
	}
}

func isNoNamespace(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) &&
		status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}
