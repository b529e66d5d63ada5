// Package fake has a lock for tests of programs that elect a leader. It's in memory, and a test
// can block it, and so decide when its elector leads and when it loses the lock.
//
// Neighbours: below it is the interface of package resourcelock; tests of managers use it.
package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// ControllableResourceLockInterface is a lock that a test can block.
type ControllableResourceLockInterface interface {
	resourcelock.Interface

	// BlockLeaderElection makes all writes fail from now on. A leader loses the lock.
	BlockLeaderElection()
	// UnblockLeaderElection lets writes succeed again.
	UnblockLeaderElection()
}

// NewResourceLock returns a lock without a holder. It ignores its parameters, which are those of
// leaderelection.NewResourceLock. The lock implements ControllableResourceLockInterface.
func NewResourceLock(
	_ *rest.Config, _ leaderelection.EventRecorderProvider, _ leaderelection.Options,
) (resourcelock.Interface, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("finding a name for this replica: %w", err)
	}
	return &lock{identity: host + "_" + string(uuid.NewUUID())}, nil
}

var _ ControllableResourceLockInterface = (*lock)(nil)

var errBlocked = errors.New("the fake lock is blocked: call UnblockLeaderElection")

type lock struct {
	identity string

	mu      sync.Mutex // guards what follows
	record  resourcelock.LeaderElectionRecord
	blocked bool
}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	record := l.record
	raw, err := json.Marshal(record)
	return &record, raw, err
}

func (l *lock) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record)
}

func (l *lock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record)
}

func (l *lock) write(record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.blocked {
		return errBlocked
	}
	l.record = record
	return nil
}

func (*lock) RecordEvent(string) {}

func (l *lock) Identity() string { return l.identity }

func (l *lock) Describe() string { return "fake/" + l.identity }

func (l *lock) BlockLeaderElection() { l.block(true) }

func (l *lock) UnblockLeaderElection() { l.block(false) }

func (l *lock) block(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocked = yes
}
