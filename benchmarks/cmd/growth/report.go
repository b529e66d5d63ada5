package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/loopwright/loopwright/benchmarks/growth"
	"github.com/loopwright/loopwright/benchmarks/internal/machine"
)

// write writes the table and its plots to a directory. If nothing failed, it forgets the table: the next command measures all of
// it again.
func (p *player) write(ctx context.Context, dir string) error {
	m, err := machine.Look(ctx)
	if err != nil {
		return err
	}
	var took float64
	for _, r := range p.table.Results {
		if r.Figure == growth.Took {
			took += r.Value
		}
	}
	p.table.Facts = append(m.Facts(), machine.Fact{Name: "run", Value: fmt.Sprintf("%s, %d times, %s in all",
		p.began.UTC().Format(time.DateOnly), p.runs, time.Duration(took*float64(time.Second)).Round(time.Minute))})
	if err := errors.Join(p.table.Save(filepath.Join(dir, "generated", "growth.csv")), p.table.Draw(filepath.Join(dir, "plots"))); err != nil {
		return err
	}
	if len(p.failures) > 0 {
		return nil
	}
	return os.Remove(p.file)
}
