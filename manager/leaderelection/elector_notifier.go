package leaderelection

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/manager/metrics"
)

// notifier calls what belongs to the user, other than the work, from a goroutine of its own: the loop
// has a deadline, and must not wait for a recorder of events or a log. The goroutine is there only as
// long as there is something to tell.
type notifier struct {
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

func newNotifier(lock resourcelock.Interface, onNewLeader func(string)) *notifier {
	return &notifier{lock: lock, onNewLeader: onNewLeader, told: make(chan struct{}, 1)}
}

// event tells the lock what happened to it.
func (n *notifier) event(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, what)
	n.goLocked()
}

// sees tells the user of a new leader.
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

// finished returns true if all has been told. Otherwise told is sent when it has.
func (n *notifier) finished() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.running
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
