package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestANumberInAFileThatNobodyHoldsIsNotBelieved(t *testing.T) {
	at := place{dir: t.TempDir()}
	require.NoError(t, at.make())
	innocent := exec.Command("sleep", "600")
	require.NoError(t, innocent.Start())
	defer func() { _ = innocent.Process.Kill(); _ = innocent.Wait() }()
	require.NoError(t, os.WriteFile(at.alive(Etcd), fmt.Appendf(nil, "%d", innocent.Process.Pid), 0o600))

	require.NoError(t, stopAll(at))
	assert.ErrorContains(t, kill(Etcd, at), "it does not run")
	_, lives := pidOf(Etcd, at)
	assert.False(t, lives)
	assert.True(t, alive(innocent.Process.Pid), "a process that had nothing to do with the cluster was killed")
}

func TestAPartThatIgnoresTheRequestToStopIsKilled(t *testing.T) {
	at := place{dir: t.TempDir()}
	require.NoError(t, at.make())
	held, err := claim(at.alive(Etcd))
	require.NoError(t, err)
	stubborn := exec.Command("/bin/bash", "-c", `trap "" TERM; echo -n $$ >&3; while :; do sleep 1; done`)
	stubborn.ExtraFiles = []*os.File{held}
	require.NoError(t, stubborn.Start())
	require.NoError(t, held.Close())
	ended := make(chan struct{})
	go func() { _ = stubborn.Wait(); close(ended) }()
	require.NoError(t, stop(Etcd, at), "down leaves it running")
	<-ended
}

// Ctrl-C during a start on a busy machine would leave a part running, one that has not come as far as
// to write its number.
func TestAPartThatHasJustBeenStartedCanBeStopped(t *testing.T) {
	at := place{dir: t.TempDir()}
	require.NoError(t, at.make())
	slow := filepath.Join(t.TempDir(), "slow")
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700))
	ended, err := start(Etcd, at, state{}, binaries{controlplane: slow}, Options{})
	require.NoError(t, err)
	require.NoError(t, stopAll(at))
	<-ended
}

func TestAnErrorShowsTheEndOfTheLogWithoutStackTraces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd.log")
	write := func(content string) {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	write("one\ntwo\nthree\n")
	assert.Equal(t, "two\nthree", lastLines(path, 2))
	write("goroutine 7 [running]:\nof an error that was survived\n" + `{"msg":"no space","stacktrace":"a\nb \" c"}` + "\npanic: no space left on device\n\ngoroutine 1 [running]:\nmain.main()\n\n")
	assert.Equal(t, `{"msg":"no space"}`+"\npanic: no space left on device", lastLines(path, 2))
	write("goroutine 7 [running]:\nof an error that was survived\n")
	assert.Contains(t, lastLines(path, 9), "survived")
	assert.Contains(t, lastLines(path+"-missing", 9), "no log: ")

	write("disk full\n")
	err := &partError{part: Etcd, log: path, what: errEnded}
	assert.EqualError(t, err, "etcd ended; the end of its log, "+path+":\n  | disk full")
}

func TestOldKeysAreMadeAnewBeforeTheyEnd(t *testing.T) {
	at := place{dir: t.TempDir()}
	require.NoError(t, at.make())
	now := time.Now()
	assert.False(t, pkiIsFresh(at, now))
	require.NoError(t, writePKI(at))
	assert.True(t, pkiIsFresh(at, now))
	assert.False(t, pkiIsFresh(at, now.Add(365*24*time.Hour-renewal)), "the cluster would stop working while it runs")
	for _, file := range append(slices.Clone(pemFiles), "admin.kubeconfig", "kwok.kubeconfig") {
		content := readFile(t, at.pki(file))
		require.NoError(t, os.Truncate(at.pki(file), 0))
		assert.False(t, pkiIsFresh(at, now), "a set of keys is taken for whole though %s is empty", file)
		require.NoError(t, os.WriteFile(at.pki(file), []byte(content), 0o600))
	}
	require.NoError(t, os.Remove(at.pki("ca.crt")))
	assert.False(t, pkiIsFresh(at, now), "a set that was not finished is taken for one")
}
