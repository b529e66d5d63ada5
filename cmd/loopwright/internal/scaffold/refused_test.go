package scaffold

import (
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
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
  - {expression: "false", reason: Forbidden, message: no order looks like that any more}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-updates}
spec: {policyName: no-updates, validationActions: [Deny]}
`

func order(name, message string) string {
	return "apiVersion: shop.example.com/v1\nkind: Order\nmetadata: {name: " + name + "}\nspec: {message: " + message + "}\n"
}

// reportsARuleThatIsNewer creates an Order that is refused when the controller adds the finalizer.
func (m *made) reportsARuleThatIsNewer() {
	m.applies(order("probe", "Hello"))
	m.applies(noUpdates)
	m.eventually(func() bool { // a policy needs a moment
		output, err := m.kubectl("annotate", "--overwrite", "order/probe", "at="+time.Now().Format(time.RFC3339Nano)).CombinedOutput()
		return err != nil && strings.Contains(string(output), "no order looks like that any more")
	}, "the policy does not work")
	m.applies(order("late", "Hello"))
	m.says("wait", "--for=condition=Ready=false", "--timeout=5m", "order/late")
	assert.Contains(m, m.says("get", "order/late", "-o", "jsonpath={.status.conditions}"), "no order looks like that any more")
	m.eventually(func() bool {
		return strings.Contains(m.says("get", "events", "--field-selector", "involvedObject.name=late"), "NotPublished")
	}, "there is no event")
	m.says("delete", "validatingadmissionpolicy/no-updates", "validatingadmissionpolicybinding/no-updates")
	m.says("delete", "--timeout=5m", "order/late", "order/probe")
}
