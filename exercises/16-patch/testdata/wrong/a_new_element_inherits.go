// Bug: a new element gets the fields of the one that moved away from its place.
package admission

func (d differ) list(path string, raw, before, after []any) differ {
	if len(before) != len(raw) {
		before = raw // Go made another list of it, so their elements cannot be told apart
	}
	head, shorter := 0, min(len(before), len(after))
	for head < shorter && equal(before[head], after[head]) {
		head++
	}
	tail := 0
	for tail < shorter-head && equal(before[len(before)-1-tail], after[len(after)-1-tail]) {
		tail++
	}
	rawEnd, afterEnd := len(raw)-tail, len(after)-tail
	paired := min(rawEnd, afterEnd)
	here, _ := moved(raw[head:rawEnd], before[head:rawEnd], after[head:afterEnd], head)
	for i := rawEnd - 1; i >= paired; i-- { // from behind: a removal moves what comes after it
		d = d.add("remove", element(path, i), nil)
	}
	for i := paired; i < afterEnd; i++ {
		value, was := here[i]
		if !was {
			value = after[i]
		}
		d = d.add("add", element(path, i), value)
	}
	for i := range after { // the list has its final length now, and so the elements their final places
		old := i
		if i >= afterEnd {
			old = i - afterEnd + rawEnd
		} else if i >= paired {
			continue // it was added
		} else if value, was := here[i]; was {
			d = d.add("replace", element(path, i), value)
			continue
		}
		if !equal(raw[old], after[i]) {
			d = d.value(element(path, i), raw[old], before[old], after[i])
		}
	}
	return d
}
