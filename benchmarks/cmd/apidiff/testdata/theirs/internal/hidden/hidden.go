// Package hidden has what package thing has aliases of.
package hidden

type Thing struct{ Name string }

func (*Thing) Do() {}

type Unseen struct{ Size int }

func (u *Unseen) Again() *Unseen { return u }
