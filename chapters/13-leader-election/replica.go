package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/trace"
)

// replicaMain is the program that runs several times. It gets its orders on its standard input, and
// writes what its flight recorder holds to its standard output. It ends when its input does, so that no
// process is left if the demo is killed.
func replicaMain(name string) int {
	input := bufio.NewReader(os.Stdin)
	var o orders
	line, err := input.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		return fail(fmt.Errorf("reading the orders: %w", err))
	}
	client, err := kubernetes.NewForConfig(o.config())
	if err != nil {
		return fail(err)
	}
	recorder := trace.New(0)
	ctx, stop := context.WithCancel(context.Background())
	reported := make(chan error, 1)
	reporting, enough := context.WithCancel(context.Background())
	go func() { reported <- report(reporting, recorder, os.Stdout) }()
	go func() {
		if _, err := input.ReadString('\n'); err != nil {
			os.Exit(1) // the demo has gone
		}
		stop()
	}()

	b := &bookkeeper{name: name, namespace: o.Namespace, client: client, recorder: recorder}
	if o.NoElection {
		b.pay(ctx)
	} else {
		err = elect(ctx, b)
	}
	enough()
	if failed := <-reported; err == nil {
		err = failed
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

// region elect
// elect pays invoices as long as this replica leads.
func elect(ctx context.Context, b *bookkeeper) error {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: b.namespace, Name: "bookkeeping"},
			Client:     b.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: b.name},
		},
		Name:          "bookkeeping",
		LeaseDuration: 6 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 500 * time.Millisecond,
		StopTimeout:     10 * time.Second,
		ReleaseOnCancel: true, WaitForMissing: true,
		Recorder: b.recorder,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: b.pay,
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	if err := elector.Elect(ctx); err != nil {
		// The process has to end now, and takes a moment. Work that is under way goes on meanwhile.
		time.Sleep(3 * time.Second)
		return err
	}
	return nil
}

// endregion elect

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "replica:", err)
	return 1
}
