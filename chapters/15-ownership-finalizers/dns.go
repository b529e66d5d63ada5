package main

import (
	"context"
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/finalizer"
	"github.com/loopwright/loopwright/trace"
)

// dns stands for a DNS server outside of the cluster. No garbage collector knows its records.
type dns struct {
	recorder *trace.Recorder

	mu      sync.Mutex // guards the rest
	records map[record]bool
	made    int
	down    bool
}

// record belongs to one object, and not to the next one of that name.
type record struct {
	host string
	uid  types.UID
}

func recordOf(obj metav1.Object) record { return record{host(obj), obj.GetUID()} }

// publish makes the record, unless it is there.
func (d *dns) publish(obj metav1.Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := recordOf(obj); !d.records[r] {
		d.records[r] = true
		d.made++
		d.tell(r, "made")
	}
}

// Finalize removes the record. If it is not there, that is fine.
func (d *dns) Finalize(_ context.Context, obj client.Object) (finalizer.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return finalizer.Result{}, errors.New("the DNS server does not answer")
	}
	if r := recordOf(obj); d.records[r] {
		delete(d.records, r)
		d.tell(r, "removed")
	}
	return finalizer.Result{}, nil
}

func (d *dns) tell(r record, what string) {
	d.recorder.Record(trace.Event{Kind: trace.Note, Layer: "dns", Object: "record", Name: r.host, Reason: what})
}

func (d *dns) setDown(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
}

func (d *dns) has(obj metav1.Object) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.records[recordOf(obj)]
}

func (d *dns) counts() (made, left int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.made, len(d.records)
}
