// Package stalled has mini's informers record which objects say that they aren't getting anywhere, for
// X-ray. The library's informers do so themselves. In mini it would be a line more in a file that is
// printed, so it's a handler like any other.
//
// Neighbours: below it are mini and trace. Above it are the programs that run mini's controllers.
package stalled

import (
	"reflect"

	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// Record adds a handler to the informers of these kinds. Name kinds that are watched already: for
// any other, it makes an informer.
func Record(m *mini.Manager, recorder *trace.Recorder, kinds ...mini.Object) error {
	for _, like := range kinds {
		informer, err := m.Cache.Informer(like)
		if err != nil {
			return err
		}
		kind := reflect.TypeOf(like).Elem().Name()
		informer.AddHandler(func(c mini.Change) {
			obj := c.Object()
			recorder.RecordStalled(trace.Event{
				Layer: "informer", Object: kind, Namespace: obj.GetNamespace(), Name: obj.GetName(),
				Version: obj.GetResourceVersion(),
			}, c.Old, c.New)
		})
	}
	return nil
}
