package komega

import (
	"context"

	"github.com/loopwright/loopwright/manager/client"
)

// shared is what the functions below ask with. A suite sets it once, before its tests run.
var shared = asker{requests: context.Background()}

// SetClient says with which client Get, List, Update, UpdateStatus, Object and ObjectList ask.
func SetClient(c client.Client) { shared.client = c }

// SetContext says with which context they ask.
func SetContext(c context.Context) { shared.requests = c }

// asks returns what SetClient and SetContext have set, at the time of the call.
func asks() asker {
	if shared.client == nil {
		panic("komega does not know whom to ask: call komega.SetClient before the tests run, or use komega.New")
	}
	return shared
}

// Get is Komega.Get, with the client of SetClient. So are the functions below.
func Get(obj client.Object) func() error { return asks().Get(obj) }

// List is Komega.List.
func List(list client.ObjectList, opts ...client.ListOption) func() error {
	return asks().List(list, opts...)
}

// Update is Komega.Update.
func Update(obj client.Object, f func(), opts ...client.UpdateOption) func() error {
	return asks().Update(obj, f, opts...)
}

// UpdateStatus is Komega.UpdateStatus.
func UpdateStatus(obj client.Object, f func(), opts ...client.SubResourceUpdateOption) func() error {
	return asks().UpdateStatus(obj, f, opts...)
}

// Object is Komega.Object.
func Object(obj client.Object) func() (client.Object, error) { return asks().Object(obj) }

// ObjectList is Komega.ObjectList.
func ObjectList(list client.ObjectList, opts ...client.ListOption) func() (client.ObjectList, error) {
	return asks().ObjectList(list, opts...)
}
