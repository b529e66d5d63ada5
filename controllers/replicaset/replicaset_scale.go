package replicaset

import "iter"

// defaultBurst is the largest number of Pods that one look creates or deletes. What is left waits for the next look, so
// that a ReplicaSet with a hundred thousand Pods does not act for minutes on what it saw once.
const defaultBurst = 500

// change is what has to happen to the number of Pods. One of the two is 0.
type change struct{ create, remove int }

// changeTo says how to get from the Pods that there are to the Pods that are wanted, in one look that creates or deletes
// no more than so many.
func changeTo(want, have, burst int) change {
	return change{create: min(max(want-have, 0), burst), remove: min(max(have-want, 0), burst)}
}

// batches are the sizes of the groups in which n Pods are created: 1, 2, 4, and so on, which is called a slow start. A
// group begins when the one before has succeeded. If there is a quota, and it is used up, then one request finds that
// out, and not hundreds. A thousand Pods take ten groups.
func batches(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for size := 1; n > 0; size *= 2 {
			size = min(size, n)
			if !yield(size) {
				return
			}
			n -= size
		}
	}
}
