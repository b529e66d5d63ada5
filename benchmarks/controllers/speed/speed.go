// Package speed measures our controllers beside Kubernetes' own: the time until the work is done, the writes to the API
// server, and what the process needs.
//
// Both run as processes of their own on one embedded cluster, one after the other, without a limit of their own on
// requests. A row is a workload in an empty namespace with a process that has just started. The API server's audit log
// says who has written what: each side has a user of its own.
//
// Neighbours: below it is the package cluster. The command is cmd/controllerspeed.
package speed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
)

// Measured is what one side needed for a row.
type Measured struct {
	Time   time.Duration
	Writes map[string]int // such as "create pods"
	CPU    time.Duration
	PeakMB float64
}

// Sum is the number of all writes; without Events, if they are left out.
func (m Measured) Sum(withEvents bool) (sum int) {
	for what, n := range m.Writes {
		if withEvents || what != "create events" && what != "patch events" {
			sum += n
		}
	}
	return sum
}

type bench struct {
	dir, program, controlPlane string
	cluster                    *cluster.Cluster
	user                       kubernetes.Interface
	audit                      audit
}

// Run measures the rows, and hands out each as soon as it is there.
func Run(ctx context.Context, rows []Row, rounds int, log io.Writer, done func(row Row, theirs, ours Measured)) (err error) {
	dir, err := os.MkdirTemp("", "loopwright-speed-")
	if err != nil {
		return err
	}
	b := &bench{dir: dir, program: filepath.Join(dir, "program"), audit: audit{path: filepath.Join(dir, "audit.log")}}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := errors.Join(build(ctx, b.program), b.up(ctx, log)); err != nil {
		return err
	}
	for _, row := range rows {
		var theirs, mine []Measured
		for round := range rounds {
			for _, who := range []string{originals, ours} {
				measured, err := b.measure(ctx, row, who, fmt.Sprintf("%s-%s-%d", row.Name, who, round))
				if err != nil {
					return fmt.Errorf("%s, %s: %w", row.Name, who, err)
				}
				if who == ours {
					mine = append(mine, measured)
				} else {
					theirs = append(theirs, measured)
				}
			}
		}
		done(row, fastest(theirs), fastest(mine))
	}
	return nil
}

// fastest is the measurement that others on the machine have disturbed least.
func fastest(all []Measured) Measured {
	best := all[0]
	for _, one := range all[1:] {
		if one.Time < best.Time {
			best = one
		}
	}
	return best
}

func (b *bench) up(ctx context.Context, log io.Writer) (err error) {
	policy := filepath.Join(b.dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	b.cluster, err = cluster.Up(ctx, cluster.Options{
		Dir: filepath.Join(b.dir, "state"), Ephemeral: true, Nodes: 10, Out: log,
		Arguments: func(part cluster.Part, line []string) ([]string, error) {
			if part == cluster.APIServer {
				line = append(line, "--audit-policy-file="+policy, "--audit-log-path="+b.audit.path, "--audit-log-mode=blocking")
			}
			return line, nil
		},
	})
	if err != nil {
		return err
	}
	if b.controlPlane, err = filepath.EvalSymlinks(b.cluster.Kubectl); err != nil {
		return err
	}
	for _, who := range []string{originals, ours} {
		config, err := b.cluster.UserConfig(who, []string{"system:masters"})
		if err == nil {
			err = writeKubeconfig(filepath.Join(b.dir, who+".kubeconfig"), config)
		}
		if err != nil {
			return err
		}
	}
	config := b.cluster.RESTConfig()
	config.WarningHandler = rest.NoWarnings{}
	b.user, err = kubernetes.NewForConfig(config)
	return err
}

func (b *bench) close() error {
	var err error
	if b.cluster != nil {
		err = b.cluster.Down(context.Background())
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// measure plays a row with the controllers of one side.
func (b *bench) measure(ctx context.Context, row Row, who, namespace string) (m Measured, err error) {
	at := place{ctx: ctx, user: b.user, namespace: namespace}
	if _, err := b.user.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return m, err
	}
	controllers, err := b.start(who)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, controllers.stop(), at.empty()) }()
	if err := errors.Join(at.answer("before"), row.prepare(at)); err != nil {
		return m, err
	}
	time.Sleep(2 * time.Second) // what is still under way is no part of the row
	if row.restart {
		if err := controllers.stop(); err != nil {
			return m, err
		}
		if err := b.audit.forget(); err != nil {
			return m, err
		}
		if controllers, err = b.start(who); err != nil {
			return m, err
		}
	} else if err := b.audit.forget(); err != nil {
		return m, err
	}
	before, err := controllers.used()
	if err != nil {
		return m, err
	}
	begin := time.Now()
	if err := row.play(at); err != nil {
		return m, err
	}
	m.Time = time.Since(begin)
	after, err := controllers.used()
	if err != nil {
		return m, err
	}
	time.Sleep(2 * time.Second) // Events, and statuses that are written late, count too
	m.CPU, m.PeakMB = after.cpu-before.cpu, after.peak
	m.Writes, err = b.audit.writes(who)
	return m, err
}
