package informer

// TransformFunc is client-go's name for a Transform of objects of any type. It gets the object and
// returns it, or another one. Tombstones, which client-go's may get as well, never come.
type TransformFunc func(any) (any, error)
