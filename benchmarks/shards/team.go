package shards

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// tally knows which replica has reconciled which object last.
type tally struct {
	last  []int // the number of a replica; -1 before the first
	fresh []bool
	open  int // how many objects are awaited: those that aren't fresh
}

func newTally(objects int) *tally {
	t := &tally{last: make([]int, objects), fresh: make([]bool, objects), open: objects}
	for i := range t.last {
		t.last[i] = -1
	}
	return t
}

// await waits for all objects that are chosen, from now on.
func (t *tally) await(chosen func(object int) bool) {
	t.open = 0
	for i := range t.fresh {
		t.fresh[i] = !chosen(i)
		if !t.fresh[i] {
			t.open++
		}
	}
}

// note handles a replica's report.
func (t *tally) note(replica int, done []byte) {
	for i := range t.last {
		if done[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		t.last[i] = replica
		if !t.fresh[i] {
			t.fresh[i] = true
			t.open--
		}
	}
}

// team is the replicas that run.
type team struct {
	say func(format string, args ...any)

	mu      sync.Mutex // guards what follows
	tally   *tally
	count   int // reconciles of all
	members []*member
	failure error
}

type member struct {
	command *exec.Cmd
	latest  report
	killed  bool
	ended   chan struct{} // closed when its process has
}

// start starts one more replica.
func (t *team) start(of Replica) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	m := &member{command: exec.Command(self), ended: make(chan struct{})}
	m.command.Env = append(os.Environ(), replicaEnv+"="+string(text))
	m.command.Stderr = os.Stderr
	if _, err := m.command.StdinPipe(); err != nil { // the replica ends when we do
		return err
	}
	out, err := m.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := m.command.Start(); err != nil {
		return err
	}
	t.mu.Lock()
	number := len(t.members)
	t.members = append(t.members, m)
	t.mu.Unlock()
	go func() {
		defer close(m.ended)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var r report
			if json.Unmarshal(lines.Bytes(), &r) == nil {
				t.hear(number, r)
			}
		}
		err := m.command.Wait()
		t.mu.Lock()
		defer t.mu.Unlock()
		if !m.killed {
			t.failure = errors.Join(t.failure, fmt.Errorf("replica %d has ended: %w", number+1, err))
		}
	}()
	return nil
}

func (t *team) hear(number int, r report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.members[number].latest = r
	t.count += r.Count
	t.tally.note(number, r.Done)
}

// kill ends replicas at once. Whatever they've said is heard before it returns.
func (t *team) kill(members ...*member) {
	for _, m := range members {
		t.mu.Lock()
		m.killed = true
		t.mu.Unlock()
		_ = m.command.Process.Kill()
		<-m.ended
	}
}

// left returns how many objects are still awaited, and how many reconciles there were.
func (t *team) left() (open, count int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tally.open, t.count, t.failure
}

// wait waits until at most this many objects are still awaited. It says every few seconds how many are.
func (t *team) wait(ctx context.Context, what string, most int) (count int, at time.Time, err error) {
	said := time.Now()
	for {
		open, count, err := t.left()
		if err != nil || open <= most {
			return count, time.Now(), err
		}
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			t.say("    %s: %d objects to go", what, open)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return count, time.Now(), fmt.Errorf("%s: %d objects are left: %w", what, open, context.Cause(ctx))
		}
	}
}

// costs returns the latest reports of the replicas that weren't killed.
func (t *team) costs() (all []report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if !m.killed {
			all = append(all, m.latest)
		}
	}
	return all
}
