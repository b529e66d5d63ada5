package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"

	"github.com/loopwright/loopwright/benchmarks/growth"
)

// measureTouching is the process that shows the machine's own part: it touches memory that it has never had before, a gigabyte
// after the other, and does nothing else. A virtual machine may have given that memory back to its host and has to ask for it again.
func measureTouching(gigabytes int) error {
	const gigabyte = 1_000_000_000
	page := os.Getpagesize()
	var kept [][]byte
	for number := range gigabytes {
		clock := startClock()
		fresh := make([]byte, gigabyte) // Linux gives a page when it's touched
		for at := 0; at < len(fresh); at += page {
			fresh[at] = 1
		}
		tell(growth.Gigabyte(number+1), clock.time().Seconds())
		kept = append(kept, fresh)
	}
	runtime.KeepAlive(kept)
	return nil
}

// machineCase is what the machine takes for the memory that the largest size needs.
func (p *player) machineCase(run int) growth.Case {
	return growth.Case{Run: run, Server: growth.Machine, Form: "memory", Objects: slices.Max(p.sizes), Side: "touching"}
}

// touch measures as many gigabytes as the side needed that had the most.
func (p *player) touch(ctx context.Context, c growth.Case) ([]growth.Result, error) {
	gigabytes := int(math.Ceil(p.table.Peak() / 1e9))
	if gigabytes == 0 {
		return nil, fmt.Errorf("no side has told how much memory it needs: measure one first, or leave -run out")
	}
	return p.process(ctx, c, "-part", "touch", "-objects", strconv.Itoa(gigabytes))
}
