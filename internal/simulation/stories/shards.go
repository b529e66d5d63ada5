package stories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/tests/hostile"
	"github.com/loopwright/loopwright/manager/client"
)

// Colleague is what a replica gets that shares its work with others: a connection, and what its
// controller does.
type Colleague struct {
	Connection *rest.Config
	// Reconcile reconciles a ConfigMap, with a client that reads from the replica's cache.
	Reconcile func(context.Context, client.Client, client.ObjectKey) error
	// Deleted is for handlers that hear of a ConfigMap's deletion.
	Deleted func(client.ObjectKey)
}

// Shards is the story of replicas that share ConfigMaps by their namespaces. share is the life of one: it
// works until the context ends, or until it can't go on, and then its process ends. Its lease lasts 30 s,
// which is long, because most of a day's cost are renewals. A reconcile whose context has ended takes up
// to 2 s to stop.
//
// Users stop and kill replicas, and change ConfigMaps. On the way, no two replicas may be inside one
// ConfigMap, and whoever takes over must see what the last one wrote. In the end each ConfigMap is what
// its user wants, and every replica has something to do.
func Shards(share func(context.Context, Colleague) error) simulation.Story {
	return simulation.Story{
		Name: "shards", Seeds: 40, Short: 10, Race: 4,
		Steps: 12, Long: time.Minute, Rest: 5 * time.Minute, SelectsShards: true, Mishaps: shardMishaps,
		Least: map[string]int{
			"takeovers of an object":                    1500,
			"user: kill a replica":                      120,
			"user: stop a replica":                      120,
			"fault: answer to a write of a Lease lost":  300,
			"fault: old Leases":                         400,
			"fault: one replica can't list ConfigMaps":  80,
			"fault: one replica can't reach the server": 800,
			"fault: one replica can't read Leases":      200,
			"fault: one replica has no answers":         300,
			"fault: slow writes of Leases":              250,
			"mishap: stale views":                       25,
			"mishap: wrong answers":                     40,
		},
		Cast: func(w *simulation.World) simulation.Cast {
			s := newShop(w, share)
			return simulation.Cast{Begin: s.begin, Act: s.act, Last: s.last, State: s.state, Judge: s.judge}
		},
	}
}

// shardMishaps are all that happens to the requests of replicas that share their work.
func shardMishaps(random *rand.Rand, often float64) []simulation.Mishap {
	leases := func(verb string) fakeapi.Match { return fakeapi.Match{Verb: verb, Resource: "leases"} }
	one := func(match fakeapi.Match) fakeapi.Match {
		match.UserAgent = "-" + names[random.IntN(len(names))]
		return match
	}
	all := append(simulation.OfRequests(random, often), simulation.OfWatches(random, often)...)
	for i := range all {
		all[i].Blinds = false // nobody here is judged by what the watches have shown
	}
	return append(all,
		simulation.Mishap{Name: "answer to a write of a Lease lost", Fault: fakeapi.Fault{
			Match: leases("create|update|patch"), Probability: often, LoseResponse: true,
		}},
		simulation.Mishap{Name: "one replica has no answers", Fault: fakeapi.Fault{
			Match: one(fakeapi.Match{}), Hang: true,
		}},
		simulation.Mishap{Name: "one replica can't reach the server", Fault: fakeapi.Fault{
			Match: one(fakeapi.Match{}), Refuse: true,
		}},
		simulation.Mishap{Name: "one replica can't read Leases", Fault: fakeapi.Fault{
			Match: one(leases("list")), Status: fakeapi.Forbidden(),
		}},
		simulation.Mishap{Name: "one replica can't list ConfigMaps", Fault: fakeapi.Fault{
			Match: one(fakeapi.Match{Verb: "list|watch", Resource: "configmaps"}), Status: fakeapi.Forbidden(),
		}},
		simulation.Mishap{Name: "nobody can list Namespaces", Fault: fakeapi.Fault{
			Match: fakeapi.Match{Verb: "list", Resource: "namespaces"}, Status: fakeapi.Unavailable(),
		}},
		simulation.Mishap{Name: "slow writes of Leases", Fault: fakeapi.Fault{
			Match: leases("update|patch"), Probability: often,
			Delay: time.Duration(1+random.IntN(20)) * time.Second,
		}},
		simulation.Mishap{Name: "old Leases", Fault: fakeapi.Fault{
			Match: leases("get|list"), Probability: often, Stale: uint64(1 + random.IntN(6)),
		}},
		simulation.Answering(random, hostile.Ops...),
		simulation.Answering(random, hostile.Ops...),
	)
}

// shop has the replicas, and the judge of what they do.
type shop struct {
	*simulation.World
	share    func(context.Context, Colleague) error
	replicas []colleague
	objects  []client.ObjectKey // those that users have made, and not deleted
	made     int                // how many ever
	wants    int                // the last number that a user wanted

	mu      sync.Mutex                  // guards the rest
	inside  map[client.ObjectKey]string // who reconciles it
	dead    map[string]bool             // processes that have ended
	deleted map[client.ObjectKey]bool   // by users
	written map[client.ObjectKey]written
	judged  map[client.ObjectKey]string // who has been judged by what was written
	begun   int                         // reconciles
	workers map[string]bool
}

func newShop(w *simulation.World, share func(context.Context, Colleague) error) *shop {
	return &shop{
		World: w, share: share, inside: map[client.ObjectKey]string{}, dead: map[string]bool{},
		deleted: map[client.ObjectKey]bool{}, written: map[client.ObjectKey]written{},
		judged: map[client.ObjectKey]string{},
	}
}

// written is what an object was like when the last reconcile ended, and whose that was.
type written struct {
	times
	by string
}

// colleague is one of the replicas.
type colleague struct {
	*shop
	*life
}

func (s *shop) begin() {
	for range 9 {
		s.make(s.namespace())
	}
	for number := range names {
		r := colleague{s, newLife(s.World, number)}
		s.replicas = append(s.replicas, r)
		s.Go(func() { r.live(r.work, s.ended) })
	}
}

// work is a process.
func (r colleague) work(ctx context.Context, p process) {
	err := r.share(ctx, Colleague{
		Connection: p.connection,
		Reconcile: func(ctx context.Context, c client.Client, key client.ObjectKey) error {
			return r.reconcile(ctx, p.name, c, key)
		},
		Deleted: func(key client.ObjectKey) { r.hears(p.name, key) },
	})
	r.ended(p.name)
	r.Tell("%s has ended: %v", p.name, err)
}

// reconcile makes a ConfigMap what its user wants, and counts in a Secret how often it has done so. It
// takes a while, and longer to stop.
func (r colleague) reconcile(ctx context.Context, process string, c client.Client, key client.ObjectKey) error {
	if !r.begins(process, key) {
		return nil
	}
	defer r.leaves(process, key)
	// An answer that never comes would keep it inside forever, and the replica from giving it away.
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	it, count, err := read(ctx, c, key)
	if err != nil {
		return err
	}
	r.sees(process, key, timesOf(it, count))
	if it == nil || isDone(it, count) {
		return nil
	}
	select {
	case <-time.After(r.upTo(8 * time.Second)):
	case <-ctx.Done():
		time.Sleep(r.upTo(2 * time.Second))
		return context.Cause(ctx)
	}
	if it.Data["is"] != it.Data["wants"] {
		it.Data["is"], it.Data["times"] = it.Data["wants"], strconv.Itoa(timesOf(it, count).done+1)
		if err := c.Update(ctx, it); err != nil {
			return err
		}
	}
	times := []byte(it.Data["times"])
	if count == nil {
		return c.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
			Data:       map[string][]byte{"times": times},
		})
	}
	count.Data["times"] = times
	return c.Update(ctx, count)
}

// read returns nil for what isn't there.
func read(ctx context.Context, from client.Reader, key client.ObjectKey) (it *corev1.ConfigMap, count *corev1.Secret, err error) {
	it, count = &corev1.ConfigMap{}, &corev1.Secret{}
	if err := from.Get(ctx, key, it); apierrors.IsNotFound(err) {
		it = nil
	} else if err != nil {
		return nil, nil, err
	}
	if err := from.Get(ctx, key, count); apierrors.IsNotFound(err) {
		count = nil
	} else if err != nil {
		return nil, nil, err
	}
	return it, count, nil
}

// times is how often an object was made what its user wants, as its two halves say.
type times struct{ done, counted int }

func timesOf(it *corev1.ConfigMap, count *corev1.Secret) (t times) {
	if it != nil {
		t.done, _ = strconv.Atoi(it.Data["times"])
	}
	if count != nil {
		t.counted, _ = strconv.Atoi(string(count.Data["times"]))
	}
	return t
}

func isDone(it *corev1.ConfigMap, count *corev1.Secret) bool {
	t := timesOf(it, count)
	return it.Data["is"] == it.Data["wants"] && t.done == t.counted
}

// namespace makes one.
func (s *shop) namespace() string {
	name := fmt.Sprint("team-", s.made)
	err := s.Live.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	s.OthersDid(err, "user: create a Namespace", name)
	return name
}

func (s *shop) make(namespace string) {
	key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprint("it-", s.made)}
	s.made++
	s.objects = append(s.objects, key)
	s.OthersDid(s.Live.Create(context.Background(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Data:       map[string]string{"wants": s.next(), "is": "", "times": "0"},
	}), "user: create", key.String())
}

func (s *shop) next() string {
	s.wants++
	return strconv.Itoa(s.wants)
}

func (s *shop) change(key client.ObjectKey) {
	it := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	wants := s.next()
	s.OthersDid(s.Live.Patch(context.Background(), it,
		client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"wants":%q}}`, wants))), "user: change", key.String())
}

// act lets a user do something. It takes the same random numbers in each run.
func (s *shop) act() {
	what, r, n := s.Users.IntN(12), s.replicas[s.Users.IntN(len(s.replicas))], s.Users.IntN(len(s.objects))
	stop, kill := r.deaths()
	switch key := s.objects[n]; what {
	case 0, 1:
		s.OthersDid(nil, "user: stop a replica", r.name)
		stop()
	case 2, 3:
		s.OthersDid(nil, "user: kill a replica", r.name)
		kill()
	case 4:
		s.make(s.namespace())
	case 5:
		s.make(key.Namespace)
	case 6:
		if len(s.objects) == 1 {
			break
		}
		s.mu.Lock()
		s.deleted[key] = true
		s.mu.Unlock()
		s.objects = slices.Delete(s.objects, n, n+1)
		it := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		s.OthersDid(s.Live.Delete(context.Background(), it), "user: delete", key.String())
	}
	for range 3 {
		s.change(s.objects[s.Users.IntN(len(s.objects))])
	}
}

// last stops one replica for the last time, and changes everything: whoever has a ConfigMap then has to
// know it.
func (s *shop) last() {
	r := s.replicas[s.Users.IntN(len(s.replicas))]
	stop, _ := r.deaths()
	stop()
	for _, key := range s.objects {
		s.change(key)
	}
}
