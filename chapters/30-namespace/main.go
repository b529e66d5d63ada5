// Command 30-namespace runs mini's namespace controller.
package main

import (
	"github.com/loopwright/loopwright/chapters/30-namespace/tenant"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

func main() {
	tenant.Main("Chapter 30: namespaces", prepare,
		demo.Predict(1,
			"in step 1, are the Pod and the Secret still there while the Pod is being drained?",
			"the second list"))
}

// prepare adds the controller to the manager, and shows what it deletes in the story's namespace.
func prepare(d *demo.Demo, m *mini.Manager) error {
	m.Cluster.Trace = d.Recorder
	d.Show(func(e trace.Event) bool {
		content := e.Namespace == d.Namespace && (e.Object == "Pod" || e.Object == "Secret")
		return e.Kind == trace.Write && (content || e.Op == "finalize" && e.Name == d.Namespace)
	})
	c, err := mini.NewNamespaceController(m)
	if err == nil {
		m.AddController(c)
	}
	return err
}
