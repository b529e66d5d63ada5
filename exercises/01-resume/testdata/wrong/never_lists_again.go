// Bug: after 410 the reader tries the same resourceVersion again, forever.
package informer

func (c Cursor) Failed(err error) Cursor {
	return c
}
