// Bug: every error makes the reader list again, so a hiccup costs the server a whole list from everybody.
package informer

func (c Cursor) Failed(err error) Cursor {
	if err != nil {
		return Cursor{}
	}
	return c
}
