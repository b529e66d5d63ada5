package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"maps"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/trace"
)

// stage starts and ends processes, and waits for what they report.
type stage struct {
	*demo.Demo
	processes map[string]*process

	events *trace.Cursor // of the recorder
	ahead  []trace.Event // read, and not looked at yet

	since time.Time // when the last leader stopped leading, or was stopped
	terms [][]string
}

// run starts a replica, with or without election.
func (s *stage) run(name, how string) (err error) {
	s.processes[name], err = start(name, ordersFor(s.Config(), s.Namespace, how != noElection), s.Recorder)
	return err
}

// end ends all processes.
func (s *stage) end() error {
	for _, p := range s.processes {
		if p != nil {
			p.kill()
		}
	}
	return nil
}

func (s *stage) signal(name string, signal syscall.Signal) error {
	if err := s.processes[name].command.Process.Signal(signal); err != nil {
		return fmt.Errorf("%s to the replica %s: %w", signal, name, err)
	}
	return nil
}

func (s *stage) tell(name, what string) error {
	_, err := io.WriteString(s.processes[name].input, what+"\n")
	return err
}

// find waits for an event.
func (s *stage) find(ctx context.Context, what string, wanted func(trace.Event) bool) error {
	for {
		for len(s.ahead) > 0 {
			event := s.ahead[0]
			s.ahead = s.ahead[1:]
			if event.Kind == trace.Lease && event.Op == "acquired" {
				s.took(event)
			}
			if wanted(event) {
				return nil
			}
		}
		if s.ahead, _ = s.events.Read(); len(s.ahead) > 0 {
			continue
		}
		if err := s.events.Wait(ctx); err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
}

// took notes a row of the table.
func (s *stage) took(event trace.Event) {
	gap := "-"
	if !s.since.IsZero() {
		gap = fmt.Sprintf("%.1f s", time.Since(s.since).Seconds())
	}
	s.terms = append(s.terms, []string{fmt.Sprint(len(s.terms)), event.Layer, event.Reason, gap})
}

// lease waits for what happens to a replica's lock.
func (s *stage) lease(ctx context.Context, name, op string) error {
	return s.find(ctx, fmt.Sprintf("%s: lease %s", name, op), func(e trace.Event) bool {
		return e.Kind == trace.Lease && e.Layer == name && e.Op == op
	})
}

func (s *stage) begins(ctx context.Context, name, invoice string) error {
	return s.find(ctx, fmt.Sprintf("%s to begin with %s", name, invoice), func(e trace.Event) bool {
		return e.Kind == trace.Note && e.Layer == name && e.Name == invoice && e.Reason == beginsToPay
	})
}

func (s *stage) paid(ctx context.Context, name, invoice string) error {
	return s.find(ctx, fmt.Sprintf("the payment of %s by %s", invoice, name), func(e trace.Event) bool {
		return e.Kind == trace.Write && e.Layer == name && e.Name == invoice && e.Outcome == 0
	})
}

func (s *stage) refused(ctx context.Context, name, invoice string) error {
	return s.find(ctx, fmt.Sprintf("the refusal of %s's payment of %s", name, invoice), func(e trace.Event) bool {
		return e.Kind == trace.Write && e.Layer == name && e.Name == invoice && e.Outcome == trace.Failed
	})
}

// send makes invoices.
func (s *stage) send(ctx context.Context, invoices ...string) (err error) {
	for _, invoice := range invoices {
		err = errors.Join(err, s.Create(ctx, types.NamespacedName{Namespace: s.Namespace, Name: invoice}, map[string]string{"story": "invoice"}))
	}
	return err
}

// payments returns who has paid an invoice.
func (s *stage) payments(ctx context.Context, invoice string) ([]string, error) {
	found, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Get(ctx, invoice, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return payers(found), nil
}

func payers(invoice *corev1.ConfigMap) []string { return slices.Sorted(maps.Keys(invoice.Data)) }

func (s *stage) tables(ctx context.Context) error {
	list, err := s.Client.CoreV1().ConfigMaps(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: invoiceLabel})
	if err != nil {
		return err
	}
	rows := [][]string{{"INVOICE", "PAYMENTS", "BY"}}
	for _, invoice := range list.Items {
		by := payers(&invoice)
		rows = append(rows, []string{invoice.Name, fmt.Sprint(len(by)), strings.Join(by, ", ")})
	}
	s.Table("Who has led", append([][]string{{"TERM", "LEADER", "WHY IT MAY LEAD", "WITHOUT A LEADER FOR"}}, s.terms...)...)
	s.Table("What was paid", rows...)
	return nil
}
