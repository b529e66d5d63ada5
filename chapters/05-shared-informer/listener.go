package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/informer"
)

// listener is a handler that remembers what it was told, and does what the story
// wants: sleep, or panic.
type listener struct {
	name         string
	registration *informer.Registration

	mu                     sync.Mutex        // guards what follows
	bites                  map[string]string // of each fruit, as last told
	told                   []string          // since recent was called
	changed                chan struct{}     // closed and replaced whenever it hears something
	adds, updates, deletes int
	bed, bug               string        // the fruit at which to sleep, or to panic
	asleep                 chan struct{} // closed when it sleeps
	alarm                  chan struct{} // closed to wake it
}

func listen(to *informer.Informer[*corev1.ConfigMap], options informer.HandlerOptions) (*listener, error) {
	l := &listener{name: options.Name, bites: map[string]string{}, changed: make(chan struct{})}
	var err error
	l.registration, err = to.AddHandler(l, options)
	return l, err
}

// OnAdd, OnUpdate and OnDelete make it an informer.Handler.
func (l *listener) OnAdd(fruit *corev1.ConfigMap, initial bool) {
	text := "add " + fruit.Name
	if initial {
		text += " (initial)"
	}
	l.note(&l.adds, fruit, text)
}

func (l *listener) OnUpdate(old, fruit *corev1.ConfigMap) {
	l.mu.Lock()
	sleeps, bug, alarm := l.bed == fruit.Name, l.bug == fruit.Name, l.alarm
	if sleeps {
		l.bed = ""
		close(l.asleep)
	}
	l.mu.Unlock()
	if sleeps {
		<-alarm
	}
	if bug {
		panic("a bug")
	}
	l.note(&l.updates, fruit, fmt.Sprintf("update %s %s->%s", fruit.Name, old.Data["bites"], fruit.Data["bites"]))
}

func (l *listener) OnDelete(fruit *corev1.ConfigMap, _ bool) {
	l.note(&l.deletes, fruit, "delete "+fruit.Name)
}

func (l *listener) note(count *int, fruit *corev1.ConfigMap, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*count++
	l.told = append(l.told, text)
	l.bites[fruit.Name] = fruit.Data["bites"]
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits until it has heard about that many bites.
func (l *listener) await(ctx context.Context, name, bites string) error {
	for {
		l.mu.Lock()
		there, changed := l.bites[name] == bites, l.changed
		l.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for listener %s to hear about %s: %w", l.name, name, context.Cause(ctx))
		}
	}
}

func (l *listener) recent() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := l.told
	l.told = nil
	return told
}

func (l *listener) sleepAt(name string) (asleep <-chan struct{}, wake func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bed, l.asleep, l.alarm, l.told = name, make(chan struct{}), make(chan struct{}), nil
	return l.asleep, func() { close(l.alarm) }
}

func (l *listener) panicAt(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bug = name
}

var heading = []string{"listener", "adds", "updates", "deletes", "panics"}

func (l *listener) row() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return []string{l.name, strconv.Itoa(l.adds), strconv.Itoa(l.updates), strconv.Itoa(l.deletes), strconv.FormatUint(l.registration.Backlog().Panics, 10)}
}
