package course

import (
	"errors"
	"fmt"
	"strings"
)

// Problems are sentences about what is wrong with the tree. Each says what to
// do about it. They are collected, not returned one at a time: who fixes one
// wants to see the others.
type Problems []string

func (p *Problems) add(format string, args ...any) {
	*p = append(*p, fmt.Sprintf(format, args...))
}

// Err is nil when there is no problem.
func (p Problems) Err() error {
	switch len(p) {
	case 0:
		return nil
	case 1:
		return errors.New(p[0])
	default:
		return fmt.Errorf("%d problems:\n- %s", len(p), strings.Join(p, "\n- "))
	}
}
