package leaderelection

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/internal/ownmetrics"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/manager/metrics"
)

// notifier calls the user's other callbacks from its own goroutine: the loop has a deadline, and
// must not wait for an event recorder or a log. The goroutine runs only while there's a call to
// make.
type notifier struct {
	lock        resourcelock.Interface
	onNewLeader func(string) // nil if the user has none

	mu      sync.Mutex // guards what follows
	events  []string   // at most two in a run
	leader  string     // the newest leader
	news    bool       // onNewLeader wasn't yet called with leader
	running bool       // the goroutine runs

	// told is sent by the goroutine when it ends, and received by the loop. It has room for one:
	// the loop may be busy then, and calls finished itself.
	told chan struct{}
}

func newNotifier(lock resourcelock.Interface, onNewLeader func(string)) *notifier {
	return &notifier{lock: lock, onNewLeader: onNewLeader, told: make(chan struct{}, 1)}
}

// event passes what happened to the lock's RecordEvent.
func (n *notifier) event(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, what)
	n.goLocked()
}

// sees passes a new leader to OnNewLeader.
func (n *notifier) sees(leader string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if leader != n.leader && n.onNewLeader != nil {
		n.leader, n.news = leader, true
		n.goLocked()
	}
}

func (n *notifier) goLocked() {
	if !n.running {
		n.running = true
		go n.run()
	}
}

func (n *notifier) run() {
	for {
		events, leader, news, more := n.take()
		if !more {
			return
		}
		for _, event := range events {
			n.lock.RecordEvent(event)
		}
		if news {
			n.onNewLeader(leader)
		}
	}
}

func (n *notifier) take() (events []string, leader string, news, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	events, news = n.events, n.news
	n.events, n.news = nil, false
	n.running = len(events) > 0 || news
	if !n.running {
		select {
		case n.told <- struct{}{}:
		default:
		}
	}
	return events, n.leader, news, n.running
}

// finished returns true if all calls were made. If not, the goroutine sends on told when they were.
func (n *notifier) finished() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.running
}

// The metrics of all electors, with client-go's names. controller-runtime v0.25.2 counts the second
// one and never registers it, so it isn't served.
var (
	masterStatus = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "leader_election_master_status",
		Help: "1 if this process leads, 0 if not, by the name of the election.",
	}, []string{"name"})
	slowpathTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "leader_election_slowpath_total",
		Help: "Renewals for which the leader had to read the lock first, because it could not " +
			"rely on what it knew.",
	}, []string{"name"})
)

func init() { ownmetrics.Register(metrics.Registry, masterStatus, slowpathTotal) }

// meter has the metrics of the elector with this name.
type meter struct{ name string }

// begin exports both metrics with value zero: an alert can't fire on a series that doesn't exist.
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
