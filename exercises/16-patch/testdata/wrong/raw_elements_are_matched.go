// Bug: elements are matched by what was sent, in which Go does not know everything.
package admission

func (d differ) list(path string, raw, before, after []any) differ {
	if len(before) != len(raw) {
		before = raw
	}
	known := before
	before = raw
	head, shorter := 0, min(len(before), len(after))
	for head < shorter && equal(before[head], after[head]) {
		head++
	}
	tail := 0
	for tail < shorter-head && equal(before[len(before)-1-tail], after[len(after)-1-tail]) {
		tail++
	}
	before = known
	rawEnd, afterEnd := len(raw)-tail, len(after)-tail
	paired := min(rawEnd, afterEnd)
	here, gone := moved(raw[head:rawEnd], before[head:rawEnd], after[head:afterEnd], head)
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
		} else if value, was := here[i]; was || gone[i] {
			if !was {
				value = after[i]
			}
			d = d.add("replace", element(path, i), value)
			continue
		}
		if !equal(raw[old], after[i]) {
			d = d.value(element(path, i), raw[old], before[old], after[i])
		}
	}
	return d
}
