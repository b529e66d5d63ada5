package cluster

import (
	"fmt"
	"io"

	"sigs.k8s.io/kind/pkg/log"
)

// kindLogger shows what kind reports to its users and drops its debugging.
type kindLogger struct{ out io.Writer }

func (l kindLogger) Warn(message string) { _, _ = fmt.Fprintln(l.out, message) }
func (l kindLogger) Warnf(format string, args ...any) {
	_, _ = fmt.Fprintf(l.out, format+"\n", args...)
}
func (l kindLogger) Error(message string)              { l.Warn(message) }
func (l kindLogger) Errorf(format string, args ...any) { l.Warnf(format, args...) }
func (l kindLogger) V(level log.Level) log.InfoLogger {
	if level > 0 {
		return log.NoopInfoLogger{}
	}
	return kindInfo{l}
}

type kindInfo struct{ kindLogger }

func (i kindInfo) Info(message string)              { i.Warn(message) }
func (i kindInfo) Infof(format string, args ...any) { i.Warnf(format, args...) }
func (i kindInfo) Enabled() bool                    { return true }
