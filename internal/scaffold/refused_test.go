package scaffold

import (
	"os/exec"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noUpdates is a rule like that of a webhook which came after the objects.
const noUpdates = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-updates}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [shop.example.com], apiVersions: ["*"], resources: [orders], operations: [UPDATE]}
  validations:
  - {expression: "false", reason: Invalid, message: no order looks like that any more}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-updates}
spec: {policyName: no-updates, validationActions: [Deny]}
`

// reportsARuleThatIsNewer creates an Order that is refused when the controller adds the finalizer.
func (m *made) reportsARuleThatIsNewer() {
	order := func(name string) string {
		return "apiVersion: shop.example.com/v1\nkind: Order\nmetadata: {name: " + name + "}\nspec: {message: Hello}\n"
	}
	apply := func(text string) {
		m.Helper()
		command := m.kubectl("apply", "-f", "-")
		command.Stdin = strings.NewReader(text)
		output, err := command.CombinedOutput()
		require.NoError(m, err, "%s", output)
	}
	apply(order("probe"))
	apply(noUpdates)
	m.eventually(func() bool { // a policy needs a moment
		output, err := m.kubectl("annotate", "--overwrite", "order/probe", "at="+time.Now().Format(time.RFC3339Nano)).CombinedOutput()
		return err != nil && strings.Contains(string(output), "no order looks like that any more")
	}, "the policy does not work")
	apply(order("late"))
	m.says("wait", "--for=condition=Ready=false", "--timeout=5m", "order/late")
	assert.Contains(m, m.says("get", "order/late", "-o", "jsonpath={.status.conditions}"), "no order looks like that any more")
	m.eventually(func() bool {
		return strings.Contains(m.says("get", "events", "--field-selector", "involvedObject.name=late"), "NotPublished")
	}, "there is no event")
	does := func(command *exec.Cmd) {
		output, err := command.CombinedOutput()
		require.NoError(m, err, "%s", output)
	}
	command := m.kubectl("delete", "-f", "-")
	command.Stdin = strings.NewReader(noUpdates)
	does(command)
	does(m.kubectl("delete", "--timeout=5m", "order/late", "order/probe"))
}
