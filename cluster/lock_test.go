package cluster

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestALockIsHeldByOneAtATimeThoughItsFileComesAndGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	inside, most := 0, 0
	var guard sync.Mutex // of both
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			unlock, err := lockFile(t.Context(), path, "counting", &bytes.Buffer{})
			if !assert.NoError(t, err) {
				return
			}
			guard.Lock()
			inside++
			most = max(most, inside)
			guard.Unlock()
			assert.True(t, isLocked(path))
			guard.Lock()
			inside--
			guard.Unlock()
			unlock()
		})
	}
	all.Wait()
	assert.Equal(t, 1, most, "two commands work on the same cluster")
	assert.NoFileExists(t, path)
	assert.False(t, isLocked(path))
}

func TestWhoWaitsForALockIsToldForWhomAndMayGiveUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := tryLock(path)
	require.NoError(t, err)
	defer func() { _ = held.Close() }()
	_, err = held.WriteString("4711")
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	var printed bytes.Buffer
	_, err = lockFile(ctx, path, "taking the cluster down", writerFunc(func(text []byte) (int, error) {
		cancel(errors.New("impatience"))
		return printed.Write(text)
	}))
	require.ErrorContains(t, err, "impatience")
	assert.Equal(t, "Waiting for process 4711, which is at work in the same place, before taking the cluster down.\n", printed.String())
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

func TestLookingWhetherAPartLivesDoesNotKeepItFromStarting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alive")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	stop := make(chan struct{})
	var lookers sync.WaitGroup
	for range 4 {
		lookers.Go(func() { // as `status` does
			for {
				select {
				case <-stop:
					return
				default:
					isLocked(path)
				}
			}
		})
	}
	for range 50 {
		held, err := claim(path)
		if assert.NoError(t, err) {
			_ = held.Close()
		}
	}
	close(stop)
	lookers.Wait()
}
