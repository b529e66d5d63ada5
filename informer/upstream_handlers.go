package informer

// This file has client-go's names for handlers, so that a program that mentions them goes on to
// compile when it imports this package instead of tools/cache. Only HandlerOptions is our own
// type: its fields are Name, Resync and Coalesce, where client-go has Logger and ResyncPeriod.

// ResourceEventHandler is client-go's name for a Handler of objects of any type. An object whose
// end nobody saw arrives as a DeletedFinalStateUnknown.
type ResourceEventHandler interface {
	OnAdd(obj any, isInInitialList bool)
	OnUpdate(oldObj, newObj any)
	OnDelete(obj any)
}

// ResourceEventHandlerFuncs is a ResourceEventHandler of functions; nil ones are not called.
type ResourceEventHandlerFuncs struct {
	AddFunc    func(obj any)
	UpdateFunc func(oldObj, newObj any)
	DeleteFunc func(obj any)
}

func (f ResourceEventHandlerFuncs) OnAdd(obj any, _ bool) {
	if f.AddFunc != nil {
		f.AddFunc(obj)
	}
}

func (f ResourceEventHandlerFuncs) OnUpdate(oldObj, newObj any) {
	if f.UpdateFunc != nil {
		f.UpdateFunc(oldObj, newObj)
	}
}

func (f ResourceEventHandlerFuncs) OnDelete(obj any) {
	if f.DeleteFunc != nil {
		f.DeleteFunc(obj)
	}
}

// ResourceEventHandlerDetailedFuncs is the same, and learns which objects were there at the
// beginning.
type ResourceEventHandlerDetailedFuncs struct {
	AddFunc    func(obj any, isInInitialList bool)
	UpdateFunc func(oldObj, newObj any)
	DeleteFunc func(obj any)
}

func (f ResourceEventHandlerDetailedFuncs) OnAdd(obj any, isInInitialList bool) {
	if f.AddFunc != nil {
		f.AddFunc(obj, isInInitialList)
	}
}

func (f ResourceEventHandlerDetailedFuncs) OnUpdate(oldObj, newObj any) {
	if f.UpdateFunc != nil {
		f.UpdateFunc(oldObj, newObj)
	}
}

func (f ResourceEventHandlerDetailedFuncs) OnDelete(obj any) {
	if f.DeleteFunc != nil {
		f.DeleteFunc(obj)
	}
}

// FilteringResourceEventHandler hands on only what concerns objects that FilterFunc accepts. An
// update by which an object begins or ceases to be accepted is an add or a delete.
type FilteringResourceEventHandler struct {
	FilterFunc func(obj any) bool
	Handler    ResourceEventHandler
}

func (f FilteringResourceEventHandler) OnAdd(obj any, isInInitialList bool) {
	if f.FilterFunc(obj) {
		f.Handler.OnAdd(obj, isInInitialList)
	}
}

func (f FilteringResourceEventHandler) OnUpdate(oldObj, newObj any) {
	was, is := f.FilterFunc(oldObj), f.FilterFunc(newObj)
	switch {
	case was && is:
		f.Handler.OnUpdate(oldObj, newObj)
	case is:
		f.Handler.OnAdd(newObj, false)
	case was:
		f.Handler.OnDelete(oldObj)
	}
}

func (f FilteringResourceEventHandler) OnDelete(obj any) {
	if f.FilterFunc(obj) {
		f.Handler.OnDelete(obj)
	}
}

// DeletedFinalStateUnknown is what OnDelete gets for an object whose end nobody saw. Obj is the
// last state that is known, and Key its namespace and name.
type DeletedFinalStateUnknown struct {
	Key string
	Obj any
}

// ResourceEventHandlerRegistration is client-go's name for what one sees of a Registration.
type ResourceEventHandlerRegistration interface {
	// HasSynced reports whether the handler has been told the whole initial list.
	HasSynced() bool
	// HasSyncedChecker has a channel for the same.
	HasSyncedChecker() DoneChecker
}

// DoneChecker is something that will be done, and what it is called.
type DoneChecker interface {
	Name() string
	// Done is closed when it is done.
	Done() <-chan struct{}
}

// Indexers are index functions by name. client-go has a name for the functions, too; it is taken
// here by IndexFunc.
type Indexers map[string]func(obj any) ([]string, error)

// TransformFunc is client-go's name for a Transform of objects of any type. It gets the object and
// returns it, or another one. Tombstones, which client-go's may get as well, never come.
type TransformFunc func(any) (any, error)
