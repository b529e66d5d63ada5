package main

import "strconv"

// world says which objects there are, and in which version. It's arithmetic, so nobody has to keep a million objects.
type world struct {
	objects int // at the start
	epoch   int
}

// The epochs of a world.
const (
	nothing = iota - 1 // no objects yet
	atStart
	hourLater // a tenth of the objects have changed, a hundredth were deleted, and as many are new
)

// end is the number after that of the last object. Numbers begin at 0.
func (w world) end() int {
	if w.epoch <= atStart {
		return w.objects
	}
	return w.objects + w.objects/100
}

// version is the resourceVersion of an object, or 0 if there's none with this number. It always has ten digits.
func (w world) version(number int) int64 {
	since := atStart
	switch {
	case w.epoch == nothing || number >= w.end() || w.deleted(number):
		return 0
	case w.epoch >= hourLater && (number%10 == 0 || number >= w.objects):
		since = hourLater
	}
	return int64(since+1)*1e9 + int64(number)
}

func (w world) deleted(number int) bool {
	return w.epoch >= hourLater && number < w.objects && number%100 == 1
}

// now is the resourceVersion of a list, which no object is newer than.
func (w world) now() int64 { return int64(w.epoch+1)*1e9 + 9e8 }

// numberOf is the number of an object, which its name ends with.
func numberOf(name string) int {
	number, err := strconv.Atoi(name[len(name)-digitsOfNumber:])
	if err != nil {
		panic(err) // the name is the server's
	}
	return number
}
