package specs_test

import (
	"reflect"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func TestSpecs(t *testing.T) {
	RunSpecs(t, "Specs")
}

var _ = BeforeSuite(func() {})

var _ = Describe("A result", func() {
	It("has a type", func() { GinkgoWriter.Println("a word on the way") })
	It("fails on both sides", func() { Fail("on both") })
	When("somebody looks", func() {
		It("is controller-runtime's", func() {
			if path := reflect.TypeFor[ctrl.Result]().PkgPath(); path != "sigs.k8s.io/controller-runtime/pkg/reconcile" {
				Fail("it is in " + path)
			}
		})
	})
	PIt("waits")
	It("has a twin", func() {})
	It("has a twin", func() {})
})
