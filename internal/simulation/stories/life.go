package stories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/simulation"
)

// names are those of the replicas in stories that play several.
var names = []string{"a", "b", "c"}

// life is that of a replica, in which many processes follow each other: it starts again whenever it ends.
type life struct {
	name  string
	world *simulation.World

	mu     sync.Mutex // guards the rest
	random *rand.Rand
	starts int
	// stop tells the process to stop, and kill cuts it off from the server first.
	stop, kill func()
}

func newLife(w *simulation.World, number int) *life {
	return &life{
		name: names[number], world: w,
		random: rand.New(rand.NewPCG(w.Users.Uint64(), uint64(number))),
		stop:   func() {}, kill: func() {},
	}
}

// process is what a process gets.
type process struct {
	name       string // which no other process has
	connection *rest.Config
	exit       func() // kills it
}

// live plays one process after the other until the World ends. If a process is killed, dies hears of it at
// once. Its goroutines go on to their end, but none of their requests reaches the server.
func (l *life) live(play func(context.Context, process), dies func(name string)) {
	for {
		select {
		case <-l.world.Done():
			return
		case <-time.After(l.upTo(5 * time.Second)):
		}
		connection, cut := l.world.Connect(l.name)
		ctx, stop := context.WithCancel(context.Background())
		l.mu.Lock()
		l.starts++
		name := fmt.Sprint(l.name, "-", l.starts)
		l.stop, l.kill = stop, func() {
			cut()
			dies(name)
			stop()
		}
		p := process{name, connection, l.kill}
		l.mu.Unlock()
		ended := make(chan struct{})
		l.world.Go(func() { // ends the process with the World
			select {
			case <-l.world.Done():
				stop()
			case <-ended:
			}
		})
		play(ctx, p)
		close(ended)
		stop()
	}
}

// deaths are the ways in which users end the process that runs.
func (l *life) deaths() (stop, kill func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stop, l.kill
}

// upTo is a random time below d.
func (l *life) upTo(d time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.random.Int64N(int64(d)))
}
