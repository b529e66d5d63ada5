package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"syscall"
	"time"
)

// liveHeap is what the heap holds without garbage.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // the first one leaves what has finalizers, and what pools hold
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64())
}

// memory is what Linux says of this process: VmRSS is what it has in memory now, VmHWM the most that it had. It's 0 on other
// systems.
func memory(what string) float64 { return memoryOf("self", what) }

func memoryOf(process, what string) float64 { return kilobytes("/proc/"+process+"/status", what) }

// kilobytes finds a line "name: value kB" in a file of /proc.
func kilobytes(file, name string) float64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kB float64
		if n, _ := fmt.Sscanf(line, name+": %f kB", &kB); n == 1 {
			return kB * 1024
		}
	}
	return 0
}

// restingMemory is what the process has in memory once Go has given back what it doesn't need.
func restingMemory() float64 {
	debug.FreeOSMemory()
	return memory("VmRSS")
}

// forgetPeak makes VmHWM start again.
func forgetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// processorTime is what this process has used, its garbage collector included.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
