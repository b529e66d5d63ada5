// Package bridge is what a page says to a world, and what it hears: JSON in both directions, so that
// the world can live in a Web Worker. The program playground connects it to the worker; tests call it
// without a browser.
//
// The page sends commands. Each has an id, and is answered by one done with this id, sooner or later:
//
//	{"id":1,"do":"start","seed":1,"replicas":2,"events":4096}  a new world; the one before ends
//	{"id":2,"do":"act","name":"scale","args":["web","5"]}      a button: see world.Actions
//	{"id":3,"do":"kubectl","line":"get pods -w","input":""}    a line at the prompt; input is what -f - reads
//	{"id":4,"do":"complete","line":"get po"}                   what the last word can become
//	{"id":5,"do":"chapter","name":"06-queue/naive"}            a chapter's program, on a cluster of its own
//	{"id":6,"do":"press","of":5,"name":"hold watch","args":["pods"]}  disturbs a chapter's connection: see xray.Steps.Press
//	{"id":7,"do":"cancel","of":3}                              ends a command that runs, as Ctrl-C does
//
// The page hears:
//
//	{"is":"state","state":{...}}                 world.State, after each change
//	{"is":"events","from":"mini-1","lines":"..."} trace events of one process, as trace.WriteJSON's lines
//	{"is":"lost","from":"mini-1","count":12}     this many events were overwritten before they could be sent
//	{"is":"output","id":3,"text":"..."}          what a line or a chapter prints
//	{"is":"words","id":4,"words":["pods"]}       completions
//	{"is":"watches","id":5,"watched":["pods"],"held":[]}  a chapter's watches that press can disturb, after each change
//	{"is":"done","id":3,"error":"..."}           a command is over; without error, it went well
//
// Messages about one world come in the order in which things happened in it. Times in them are those
// of the world's clock, which the page drives.
package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/playground/light/demotest"
	"github.com/loopwright/loopwright/playground/stories"
	"github.com/loopwright/loopwright/playground/world"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

// Command is what the page sends.
type Command struct {
	ID       int      `json:"id"`
	Do       string   `json:"do"`
	Name     string   `json:"name"`
	Args     []string `json:"args"`
	Line     string   `json:"line"`
	Input    string   `json:"input"`
	Of       int      `json:"of"`
	Seed     uint64   `json:"seed"`
	Replicas int      `json:"replicas"`
	Events   int      `json:"events"`
}

// message is what the page hears.
type message struct {
	Is    string       `json:"is"`
	ID    int          `json:"id,omitempty"`
	State *world.State `json:"state,omitempty"`
	From  string       `json:"from,omitempty"`
	Lines string       `json:"lines,omitempty"`
	Count uint64       `json:"count,omitempty"`
	Text  string       `json:"text,omitempty"`
	Words []string     `json:"words,omitempty"`
	Error string       `json:"error,omitempty"`

	Watched []string `json:"watched,omitempty"`
	Held    []string `json:"held,omitempty"`
}

// Bridge is one page's connection.
type Bridge struct {
	// Programs are those that the command chapter knows, by their names.
	Programs map[string]demotest.Program

	post func(string)

	starting sync.Mutex // held by start, so that no world is lost between two of them

	mu      sync.Mutex // guards all below
	world   *world.World
	end     func()                     // ends the world, and waits for that; nil without one
	running map[int]context.CancelFunc // commands
	played  map[int]*chapter           // chapters that run
}

// chapter is what a page knows of the watches of a program that runs.
type chapter struct {
	id int

	mu            sync.Mutex  // guards all below
	steps         *xray.Steps // nil until its stage is there
	watched, held []string    // as the page knows them
}

// New returns a bridge that calls post with each message. post must not block.
func New(post func(string)) *Bridge {
	return &Bridge{post: post, running: map[int]context.CancelFunc{}, played: map[int]*chapter{}}
}

func (b *Bridge) say(m message) {
	text, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("bridge: %v", err)) // strings and numbers can be encoded
	}
	b.post(string(text))
}

// Send does a command, and doesn't wait for it.
func (b *Bridge) Send(ctx context.Context, text string) {
	var c Command
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		b.say(message{Is: "done", Error: "no command: " + err.Error()})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	b.mu.Lock()
	b.running[c.ID] = cancel
	b.mu.Unlock()
	go func() {
		err := b.do(ctx, c)
		cancel()
		b.mu.Lock()
		delete(b.running, c.ID)
		b.mu.Unlock()
		done := message{Is: "done", ID: c.ID}
		if err != nil && !errors.Is(err, context.Canceled) {
			done.Error = err.Error()
		}
		b.say(done)
	}()
}

var errNoWorld = errors.New("there is no world yet: send start")

func (b *Bridge) do(ctx context.Context, c Command) error {
	b.mu.Lock()
	w := b.world
	b.mu.Unlock()
	out := writer(func(text string) { b.say(message{Is: "output", ID: c.ID, Text: text}) })
	switch c.Do {
	case "start":
		options := world.Options{Seed: c.Seed, Replicas: c.Replicas, Events: c.Events}
		return b.start(context.WithoutCancel(ctx), options)
	case "chapter":
		return b.play(ctx, c, out)
	case "press":
		b.mu.Lock()
		of := b.played[c.Of]
		b.mu.Unlock()
		if of == nil || len(c.Args) != 1 {
			return errors.New("press takes the id of a chapter that runs, and a resource, which may be empty")
		}
		defer b.sayWatches(of)
		return of.steps.Press(c.Name, c.Args[0])
	case "cancel":
		b.mu.Lock()
		defer b.mu.Unlock()
		if cancel := b.running[c.Of]; cancel != nil {
			cancel()
		}
		return nil
	}
	if w == nil {
		return errNoWorld
	}
	switch c.Do {
	case "act":
		return w.Do(ctx, c.Name, c.Args...)
	case "kubectl":
		return w.Kubectl.Run(ctx, c.Line, c.Input, out)
	case "complete":
		b.say(message{Is: "words", ID: c.ID, Words: w.Kubectl.Complete(ctx, c.Line)})
		return nil
	}
	return fmt.Errorf("there is no command %q", c.Do)
}

// play plays a chapter's program to its end.
func (b *Bridge) play(ctx context.Context, c Command, out io.Writer) error {
	p, found := b.Programs[c.Name]
	if !found {
		return fmt.Errorf("there is no chapter's program %q", c.Name)
	}
	following, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	played := &chapter{id: c.ID}
	lookAgain := writer(func(string) { b.sayWatches(played) }) // a program that records nothing prints
	err := stories.Play(ctx, p, io.MultiWriter(out, lookAgain), func(d *demo.Demo) {
		played.mu.Lock()
		played.steps = d.Steps
		played.mu.Unlock()
		cursor := d.Recorder.Cursor() // now: what the ring drops from here on is counted
		running.Go(func() {
			b.follow(following, c.Name, d.Recorder, cursor, func() { b.sayWatches(played) })
		})
		b.mu.Lock()
		defer b.mu.Unlock()
		b.played[c.ID] = played
	})
	stop()
	running.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.played, c.ID)
	return err
}

// sayWatches says which watches a chapter's program has, if that has changed.
func (b *Bridge) sayWatches(of *chapter) {
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.steps == nil {
		return
	}
	watched, held := of.steps.Watched()
	if slices.Equal(watched, of.watched) && slices.Equal(held, of.held) {
		return
	}
	of.watched, of.held = watched, held
	b.say(message{Is: "watches", ID: of.id, Watched: watched, Held: held})
}

// start makes a world the one that the page sees.
func (b *Bridge) start(ctx context.Context, options world.Options) error {
	b.starting.Lock()
	defer b.starting.Unlock()
	w, err := world.New(options)
	if err != nil {
		return err
	}
	b.Close()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			b.say(message{Is: "done", Error: "the world has ended: " + err.Error()})
		}
	})
	running.Go(func() { b.followAll(ctx, w) })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.world = w
	b.end = func() { cancel(); running.Wait() }
	return nil
}

// followAll says each state, and what the processes record, until ctx ends.
func (b *Bridge) followAll(ctx context.Context, w *world.World) {
	var running sync.WaitGroup
	defer running.Wait()
	followed := 0
	_ = w.Follow(ctx, func(s world.State) { // an error ends Run, too, which says so
		for _, p := range w.Processes()[followed:] {
			followed++
			cursor := p.Recorder.Cursor()
			running.Go(func() { b.follow(ctx, p.Name, p.Recorder, cursor, func() {}) })
		}
		b.say(message{Is: "state", State: &s})
	})
}

// follow says what is recorded, until ctx ends, and calls then after each message. xray.Follow waits
// between two messages by the program's clock, which the page may have stopped; here, the worker puts
// together what comes at once.
func (b *Bridge) follow(ctx context.Context, from string, r *trace.Recorder, cursor *trace.Cursor, then func()) {
	for over := false; !over; {
		over = cursor.Wait(ctx) != nil // and then comes what is left
		events, lost := cursor.Read()
		if lost > 0 {
			b.say(message{Is: "lost", From: from, Count: lost})
		}
		if len(events) == 0 {
			continue
		}
		var lines bytes.Buffer
		if err := trace.WriteJSON(&lines, r.Started(), events); err == nil { // a Buffer takes all
			b.say(message{Is: "events", From: from, Lines: lines.String()})
			then()
		}
	}
}

// Close ends the world, if there is one, and waits for it.
func (b *Bridge) Close() {
	b.mu.Lock()
	end := b.end
	b.end, b.world = nil, nil
	b.mu.Unlock()
	if end != nil {
		end()
	}
}

// writer is a function as an io.Writer.
type writer func(string)

func (w writer) Write(text []byte) (int, error) {
	if len(text) > 0 {
		w(string(text))
	}
	return len(text), nil
}
