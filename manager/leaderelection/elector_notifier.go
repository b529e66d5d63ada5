package leaderelection

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/manager/metrics"
)

// teller calls what belongs to the user, other than the work, from a goroutine of its own: the loop
// has a deadline, and must not wait for a recorder of events or a log. The goroutine is there only as
// long as there is something to tell.
type teller struct {
	lock        resourcelock.Interface
	onNewLeader func(string) // or nil

	mu      sync.Mutex // guards what follows
	events  []string   // at most two in a run
	leader  string     // the newest
	news    bool       // leader has not been told
	running bool       // the goroutine

	// told is sent by the goroutine when it ends, and received by the loop. There is room for one: the loop may be busy
	// then, and looks for itself whether all has been told.
	told chan struct{}
}

func newTeller(lock resourcelock.Interface, onNewLeader func(string)) *teller {
	return &teller{lock: lock, onNewLeader: onNewLeader, told: make(chan struct{}, 1)}
}

// event tells the lock what happened to it.
func (t *teller) event(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, what)
	t.goLocked()
}

// sees tells the user of a new leader.
func (t *teller) sees(leader string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if leader != t.leader && t.onNewLeader != nil {
		t.leader, t.news = leader, true
		t.goLocked()
	}
}

func (t *teller) goLocked() {
	if !t.running {
		t.running = true
		go t.run()
	}
}

func (t *teller) run() {
	for {
		events, leader, news, more := t.take()
		if !more {
			return
		}
		for _, event := range events {
			t.lock.RecordEvent(event)
		}
		if news {
			t.onNewLeader(leader)
		}
	}
}

func (t *teller) take() (events []string, leader string, news, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	events, news = t.events, t.news
	t.events, t.news = nil, false
	t.running = len(events) > 0 || news
	if !t.running {
		select {
		case t.told <- struct{}{}:
		default:
		}
	}
	return events, t.leader, news, t.running
}

// finished returns true if all has been told. Otherwise told is sent when it has.
func (t *teller) finished() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.running
}

// The metrics of all electors, with client-go's names. controller-runtime v0.25.2 counts the second one
// and never registers it, so that nobody can read it.
var (
	masterStatus = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "leader_election_master_status",
		Help: "1 if this process leads, 0 if not, by the name of the election.",
	}, []string{"name"})
	slowpathTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "leader_election_slowpath_total",
		Help: "Renewals for which the leader had to read the lock first, because it could not rely on what it knew.",
	}, []string{"name"})
)

func init() { metrics.Registry.MustRegister(masterStatus, slowpathTotal) }

// meter measures the elector of a name.
type meter struct{ name string }

// begin makes both metrics visible, with zero: an alert cannot count what is not there.
func (m meter) begin() {
	m.leads(false)
	slowpathTotal.WithLabelValues(m.name).Add(0)
}

func (m meter) leads(yes bool) {
	value := 0.0
	if yes {
		value = 1
	}
	masterStatus.WithLabelValues(m.name).Set(value)
}

func (m meter) slowPath() { slowpathTotal.WithLabelValues(m.name).Inc() }
